"""What an agent sees of the others: one look at the store."""

from collections.abc import Mapping
from typing import NamedTuple

from tarrafa.share.agent_record import AgentRecord
from tarrafa.share.documents import Malformed
from tarrafa.share.table import OwnershipTable


class SeenRecord(NamedTuple):
    record: AgentRecord | Malformed
    revision: int


class StoreView(NamedTuple):
    """What was read from the store in one look."""

    table: OwnershipTable | Malformed | None = None
    table_revision: int | None = None
    records: Mapping[str, SeenRecord] = {}  # only of keys that exist
    seen: Mapping[str, Mapping[str, int]] = {}  # by receiver: by life
    forgotten: frozenset[str] = frozenset()  # agents that an operator gave up
    grants: Mapping[str, int] = {}
    grants_revision: int | None = None
    is_done: bool = False

    def right_records(self) -> dict[str, AgentRecord]:
        """Return the records that could be read."""
        return {name: each.record for name, each in self.records.items() if isinstance(each.record, AgentRecord)}
