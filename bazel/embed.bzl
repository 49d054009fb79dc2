"""Text files inside of programs."""

def embed_text(name, src, out):
    """Makes of a text file a string literal, to be included where one may stand.

    Args:
      name: target name.
      src: the file. It holds no `)text"`.
      out: the file that is included.
    """
    native.genrule(
        name = name,
        srcs = [src],
        outs = [out],
        cmd = """{ printf 'R"text('; cat $<; printf ')text"\\n'; } > $@""",
    )
