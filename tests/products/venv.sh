# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: environments of Python that stay in the tree. Only making them needs the network.

# ensure_venv PYTHON NAME LIST [FOLDER]
# Sets `venv` to the environment NAME at the top of the tree, made anew whenever LIST, the file of what belongs there, has
# changed. FOLDER, with packages that are there already, becomes part of it.
ensure_venv() {
  local python=$1 list
  list=$(readlink -f "$3")
  venv=$(dirname "$list")/../../$2
  cmp -s "$list" "$venv/requirements.txt" && return
  rm -rf "$venv"
  "$python" -m venv "$venv"
  if [[ -n "${4:-}" ]]; then
    # A .pth file is a list of folders.
    echo "$4" >"$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/more.pth"
  fi
  "$venv/bin/python" -m pip install -qq -r "$list"
  # Last, so an installation that was cut short is not taken for a whole one.
  cp "$list" "$venv/requirements.txt"
}
