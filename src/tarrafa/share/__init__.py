"""Which agent owns which hosts, and how agents send each other what is not theirs?

In: the time, and what was read from the store and from the inbox of this agent. Out: instructions, such as to renew a
lease, to close a slot, to publish a message. All that decides is pure; it takes `now` and does no I/O.

    slots, table, routes     which agent owns a host
    balance                  the next table: slots of the dead are held or taken, and others move until there is balance
    lease, agent_record      what an agent says of itself, and until when it may visit its hosts
    numbers, messages        every message exactly once, and what it looks like
    sent_filter              which found URLs their owner has already
    grants, termination      how many pages an agent may take, and when the crawl is done
    documents                reading what others wrote, within bounds
    channel                  the protocol between agents; memory_channel and nats_channel fulfil it
    nats_server              a server of our own
    lease_timer              ends this process with its lease, also while it is stopped

A slot's life: it is settled at its owner. When it moves, the owner begins no more visits there, lets those in flight
land, and tells all that it knows of these hosts to the next owner as a parcel. Then it signs the slot over. The next
owner admits the parcel, says that the slot is settled, and lets each host rest a full delay before it visits it.

Not done here: fetching, and storing rows. The store between the agents is a pipe: nothing is only there.
"""
