"""Tests of the packages; `scripts/test-packages` runs them.

| file | subject |
|---|---|
| `report.py` | runs checks one by one, and counts |
| `dist.py` | the files in `dist/`, and what is inside of them |
| `contents.py` | checks that need no installation |
| `install.py` | installs a package into an empty directory |
| `program.py` | checks that run what was installed |
| `client.py` | an MCP client of a few lines |
| `launcher.py` | what the npm launcher promises |
| `backtrace.py` | that backtraces are read with the debug file |
| `container.py` | the Dockerfile as far as its text says, and its health check |
"""
