# Shell functions that bring a machine to where Ferret builds and its tests run. Sourced by tools/demo and tools/test,
# from the root of the tree. Each does nothing, silently, when there is nothing to do.

# BAZEL may carry start-up options: BAZEL="bazel --output_base=/elsewhere" tools/test
read -ra BAZEL <<<"${BAZEL:-bazel}"

DEBIAN_PACKAGES=(
  bazel-bootstrap bazel-rules-java bazel-rules-proto g++
  libabsl-dev libbenchmark-dev libconcurrentqueue-dev libcurl4-openssl-dev libgmock-dev libgrpc++-dev libgtest-dev
  libprotobuf-dev protobuf-compiler rapidjson-dev zlib1g-dev
  python3 python3-dev python3-venv valgrind
)

say() { echo "ferret: $*" >&2; }

# Installs the Debian packages that are missing, or says what to install.
ensure_packages() {
  local package missing=() as_root=()
  for package in "${DEBIAN_PACKAGES[@]}"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local apt=(apt-get -qq -o Dpkg::Use-Pty=0)
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      say "please install, then run this again: ${missing[*]}"
      exit 1
    fi
    as_root=(sudo -n)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" "${apt[@]}" update >/dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# What only tools/bench compares with. Where it cannot be installed the report says that it is left out.
ensure_peers() {
  (
    DEBIAN_PACKAGES=(lttng-tools liblttng-ust-dev)
    ensure_packages
  ) || say "going on without LTTng-UST"
}

# Makes the virtual environment $1 with the first Python that can (Debian's needs python3-venv, others bring it along).
make_venv() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      "$python" -m venv "$1"
      return
    fi
  done
  say "no python3 here can make a virtual environment; please install python3-venv"
  exit 1
}

# Sets PYTHON to a Python that has PyTorch 2.x; bazel/torch.bzl looks in the same places in the same order.
ensure_torch() {
  local found
  if [[ -n "${FERRET_PYTHON:-}" ]]; then
    if ! found=$("$FERRET_PYTHON" bazel/find_torch.py); then
      say "FERRET_PYTHON=$FERRET_PYTHON has no PyTorch 2.x"
      exit 1
    fi
  elif ! found=$(python3 bazel/find_torch.py 2>/dev/null) && ! found=$(.venv/bin/python bazel/find_torch.py 2>/dev/null)
  then
    # Pinned: a plain `torch` may bring a build of several gigabytes that nothing was tried with.
    say "no Python with PyTorch 2.x found; installing torch 2.13.0 into .venv"
    make_venv .venv
    .venv/bin/python -m pip install -qq torch==2.13.0 numpy
    found=$(.venv/bin/python bazel/find_torch.py)
  fi
  PYTHON=${found%%$'\n'*}
  # Read by .bazelrc: a new value makes Bazel look for PyTorch again.
  if [[ -d .venv && ! -e .venv/ferret.bazelrc ]]; then
    echo "build --repo_env=FERRET_VENV=$(date +%s)" >.venv/ferret.bazelrc
  fi
}

# Makes .venv-readers, anew whenever the list of what belongs there has changed. The copy of the list goes in last, so an
# installation that was cut short is not taken for a whole one.
ensure_readers_venv() {
  local list=tools/readers-requirements.txt venv=.venv-readers
  cmp -s "$list" "$venv/requirements.txt" && return
  say "installing the trace readers of $list into $venv"
  rm -rf "$venv"
  make_venv "$venv"
  "$venv/bin/python" -m pip install -qq -r <(grep -v '# no-deps' "$list")
  "$venv/bin/python" -m pip install -qq --no-deps -r <(grep '# no-deps' "$list")
  echo "test --test_env=FERRET_READERS_PYTHON=$PWD/$venv/bin/python" >"$venv/ferret.bazelrc"
  cp "$list" "$venv/requirements.txt"
}

# What the tests with a browser need on top of the readers: the browser, and what drives it. Only for --products.
ensure_browser() {
  local DEBIAN_PACKAGES=(chromium-headless-shell) python=.venv-readers/bin/python
  ensure_packages
  "$python" -c 'import playwright' 2>/dev/null && return
  say "installing playwright into .venv-readers"
  "$python" -m pip install -qq playwright==1.65.2
}
