"""What a member asks for. The agent's loop, or a simulation, carries it out in the order given."""

from typing import NamedTuple

from tarrafa.share.agent_record import AgentRecord
from tarrafa.share.messages import AgentMessage
from tarrafa.share.numbers import Dispatch, SendKey
from tarrafa.share.slots import SlotSet
from tarrafa.share.table import OwnershipTable


class ParcelKey(NamedTuple):
    """A parcel by its sender's life, and its number there."""

    life: str
    number: int


# The lease.


class ArmTimer(NamedTuple):
    """Let the kernel end this process at a time."""

    at: float


class DisarmTimer(NamedTuple):
    """Let it live: no visit is in flight."""


class HangUp(NamedTuple):
    """End all visits in flight at once, count no failure, and begin none."""


class RenewLease(NamedTuple):
    """Replace the agent's own record, or create it if there is no revision; report by `renewed` or `not_renewed`."""

    record: AgentRecord
    revision: int | None


# The store.


class LookAtStore(NamedTuple):
    """Read the table, these agents' records, and what these receivers have seen; report by `looked`."""

    names: tuple[str, ...]
    receivers: tuple[str, ...]


class WriteTable(NamedTuple):
    """Replace the table, or create it if there is no revision; report by `table_written`."""

    table: OwnershipTable
    revision: int | None


class KeepTable(NamedTuple):
    """Store the highest table that was seen. It is durable before what follows."""

    table: OwnershipTable


class FenceAgent(NamedTuple):
    """Replace another agent's record, or create it if there is no revision. What becomes of it is seen later."""

    record: AgentRecord
    revision: int | None


class WriteGrants(NamedTuple):
    """Replace the grants of pages. What becomes of it is seen later."""

    grants: dict[str, int]
    revision: int | None


class DeclareDone(NamedTuple):
    """Tell all agents that the crawl is done."""


# Messages.


class ReadInbox(NamedTuple):
    """Read the next message from a position; report by `message_read` or `nothing_read`."""

    position: int


class TakeIn(NamedTuple):
    """Take in the rows of a message, or put those of a parcel aside; the next checkpoint makes them durable."""

    message: AgentMessage


class PublishMessage(NamedTuple):
    """Publish a message of the outbox; report by `published`."""

    dispatch: Dispatch


class RemoveSent(NamedTuple):
    """Remove messages from the outbox: the checkpoints of their receivers have them."""

    keys: list[SendKey]


class SendAgain(NamedTuple):
    """Take messages back from the outbox: divide the rows of `found` and `ended` anew, and drop the rest."""

    keys: list[SendKey]


class TellSeen(NamedTuple):
    """Tell all senders which numbers the checkpoint has."""

    numbers: dict[str, int]


class PurgeInbox(NamedTuple):
    """Remove messages that the checkpoint has."""

    before: int


# Slots.


class OpenSlots(NamedTuple):
    """Visit hosts of these slots, each after a full delay from now."""

    slots: SlotSet


class CloseSlots(NamedTuple):
    """Begin no visits to hosts of these slots, and report by `landed` when none is in flight."""

    slots: SlotSet


class DrainSlots(NamedTuple):
    """Save and verify what waits for these slots; report by `drained` when nothing does."""

    slots: SlotSet


class TellSlots(NamedTuple):
    """Put all that is known of these slots into the outbox; report by `told` within the checkpoint that has the last.

    With a number it is a parcel for the receiver; without, the rows go to their owners as found by this agent.
    """

    slots: SlotSet
    receiver: str
    parcel: int


class AdmitParcel(NamedTuple):
    """Admit the rows and hosts of a parcel; report by `admitted` within the checkpoint that has them."""

    key: ParcelKey


class DropParcel(NamedTuple):
    """Forget the rows of a parcel that will not be admitted."""

    key: ParcelKey


class MarkAway(NamedTuple):
    """Mark the rows of these slots as another agent's; report by `marked_away` within the checkpoint that has it."""

    slots: SlotSet


class OfferAgain(NamedTuple):
    """Offer all seeds and links to hosts of these slots again; report by `offered`. The filter of sent URLs forgets."""

    slots: SlotSet
    number: int


class EndMember(NamedTuple):
    """End the agent."""

    reason: str
    is_failure: bool = False


MemberInstruction = (
    ArmTimer
    | DisarmTimer
    | HangUp
    | RenewLease
    | LookAtStore
    | WriteTable
    | KeepTable
    | FenceAgent
    | WriteGrants
    | DeclareDone
    | ReadInbox
    | TakeIn
    | PublishMessage
    | RemoveSent
    | SendAgain
    | TellSeen
    | PurgeInbox
    | OpenSlots
    | CloseSlots
    | DrainSlots
    | TellSlots
    | AdmitParcel
    | DropParcel
    | MarkAway
    | OfferAgain
    | EndMember
)
