"""Which agent owns which hosts, and how agents send each other what is not theirs?

In: the time, and what was read from the store and from the inbox of this agent. Out: instructions, such as to renew a
lease, to close a slot, to publish a message. All that decides is pure; it takes `now` and does no I/O.

    member                   joins all state machines; member_instructions are what it asks the agent's loop to do
    leader, store_view       what one agent does for all, and what it sees of the others
    slots, table, routes     which agent owns a host
    balance                  the next table: slots of the dead are held or taken, and others move until there is balance
    handover                 a slot's way from one owner to the next
    lease, agent_record      what an agent says of itself, and until when it may visit its hosts
    lease_timer              ends this process with its lease, also while it is stopped
    numbers, messages        every message exactly once, and what it looks like
    sent_filter              which found URLs their owner has already
    grants, termination      how many pages an agent may take, and when the crawl is done
    documents                reading what others wrote, within bounds
    store_link               carries out over a channel what a member asks of the store
    channel                  the protocol between agents; memory_channel and nats_channel fulfil it
    nats_server              a server of our own

What holds, also when agents are killed or stopped, messages are lost or repeated, and the store between them is lost:

1. A slot has one owner in a table, and tables are totally ordered.
2. Only the owner of a settled slot begins visits there, with a timer armed that ends no later than its lease.
3. An owner changes by its own word, or after its lease has ended by the clock of the agent that fences it.
4. The first visit of a host by a new owner, or after a pause or a restart, is a full delay after its slot was opened;
   never before the time that the host asked for, if the owner before told it.
5. No visit is in flight in a slot when its owner gives it away.
6. A URL is at every moment in a repository, a batch, an outbox, or a page after the last checkpoint of a disk. It
   leaves an outbox only when the receiver's checkpoint has it.
7. Each number of a sender's life is taken in at most once, and in order.
8. A receiver begins no visit in a slot before all of its parcel is admitted, so no page is fetched again because of a
   hand-over.
9. A URL at the wrong agent is forwarded, never dropped, and only by a higher table than brought it there. Taking in
   never waits for sending.
10. No lower table is obeyed.

A slot's life: it is settled at its owner. When it moves, the owner begins no more visits there, lets those in flight
land, and tells all that it knows of these hosts to the next owner as a parcel. Then it signs the slot over. The next
owner admits the parcel, says that the slot is settled, and lets each host rest a full delay before it visits it.

Not done here: fetching, and storing rows. The store between the agents is a pipe: nothing is only there.
"""
