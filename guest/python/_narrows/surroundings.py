"""The names that every program and skill can use without an import."""

import builtins

from . import analysis, calls, privacy, skills, state, tools, workspace

NAMES = {
    "ToolError": calls.ToolError,
    "display": tools.display,
    "read_file": workspace.read_file,
    "write_file": workspace.write_file,
    "list_files": workspace.list_files,
    "delete_file": workspace.delete_file,
    "save_skill": skills.save_skill,
    "load_skill": skills.load_skill,
    "list_skills": skills.list_skills,
    "sql": analysis.sql,
    "analyze": analysis.analyze,
    "board": state.board,
    "boards": state.boards,
    "shared": state.shared,
    "sanitize_pii": privacy.sanitize_pii,
    "restore_pii": privacy.restore_pii,
}


def install() -> None:
    builtins.__dict__.update(NAMES)
