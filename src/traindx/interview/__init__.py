"""The interview: asks for symptoms, then for what would change the answer, and says honestly how sure it is.

`start(run) → Session`; a Session gives the next `question()`, takes an `answer(id, value)`, and has a `diagnosis()` at
any time. It reads and writes no file: the command line and the agents' server do. Everything in it is JSON (`to_json`,
`Session.from_json`)."""

from __future__ import annotations

from traindx.interview.flow import Session as Session
from traindx.interview.flow import start as start
from traindx.interview.pressure import Reply as Reply
from traindx.interview.pressure import recognise as recognise
from traindx.interview.script_reading import ScriptReading as ScriptReading
from traindx.interview.script_reading import read_script as read_script
