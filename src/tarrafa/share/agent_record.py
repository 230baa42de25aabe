"""What an agent says of itself, every two seconds: the value of its key in the store.

Replacing it by compare-and-set renews the agent's lease. Another agent replaces it only to fence: with the state
`fenced`, after which the owner's next renewal is refused.
"""

from enum import StrEnum
from typing import NamedTuple

from tarrafa.share.documents import NAME, TOKEN, FieldReader, Malformed, packed
from tarrafa.share.table import Version


class MemberState(StrEnum):
    JOINING = "joining"
    ACTIVE = "active"
    PAUSED = "paused"
    LEAVING = "leaving"
    FENCED = "fenced"  # written by another agent
    GONE = "gone"


# The states of an agent whose process runs.
LIVE_STATES = frozenset({MemberState.JOINING, MemberState.ACTIVE, MemberState.PAUSED, MemberState.LEAVING})


class AgentRecord(NamedTuple):
    name: str
    life: str  # of its folder
    turn: str  # of its process, drawn anew for each joining
    beat: int = 0  # renewals of this turn
    state: MemberState = MemberState.JOINING
    machine: str = ""
    weight: float = 1.0
    is_idle: bool = False
    work: int = 0  # rises when the agent stops being idle
    rows: int = 0  # URLs that it knows
    pages: int = 0  # kept, over all runs
    returned: int = 0  # pages of its grants that it gave back, over all runs
    highest: Version = (0, "")  # of the tables that it saw

    @property
    def is_live(self) -> bool:
        return self.state in LIVE_STATES

    @property
    def encoded(self) -> bytes:
        fields = self._asdict()
        return packed({**fields, "highest": self.highest[0], "digest": self.highest[1]})


def parse_record(data: bytes) -> AgentRecord | Malformed:
    """Return the record of a document, or why it is none."""
    try:
        fields = FieldReader(data)
        return AgentRecord(
            name=fields.text("name", NAME),
            life=fields.text("life"),
            turn=fields.text("turn"),
            beat=fields.count("beat"),
            state=MemberState(fields.text("state")),
            machine=fields.text("machine", TOKEN, may_be_empty=True),
            weight=fields.number("weight"),
            is_idle=fields.flag("is_idle"),
            work=fields.count("work"),
            rows=fields.count("rows"),
            pages=fields.count("pages"),
            returned=fields.count("returned"),
            highest=(fields.count("highest"), fields.text("digest", may_be_empty=True)),
        )
    except (ValueError, TypeError, RecursionError) as error:
        return Malformed(f"an agent's record: {error}")
