"""What to do about each reason for which hosts are not visited, or URLs fail."""

REMEDIES = {
    "name": "The name does not exist: check its spelling.",
    "name server": "No name server answered: check the network of this machine.",
    "private": "The host is in a private network: if it is your own, give --allow-private.",
    "refused": "The port is closed: check that the server runs, and the port.",
    "unreachable": "There is no route to the host: check the network of this machine.",
    "timeout": "The host does not answer: check that it runs, and try again later.",
    "reset": "The host breaks connections off: try again later.",
    "tls": "The certificate or the TLS handshake is wrong: see tarrafa fetch URL.",
    "header": "Its headers are too large: raise header_limit in [fetch].",
    "answer": "Its answers are not HTTP: check the port.",
    "wall": "A bot wall in front of the host wants a browser: ask its owner to let your user agent through.",
    "busy": "The host asks for time: try again later.",
    "crowded": "Too many hosts share its address: they take turns.",
    "pages": "Raise --host-pages to collect more of it.",
    "site pages": "Raise site_pages in [crawl] to collect more of its site.",
    "address pages": "Raise address_pages in [crawl] to collect more of the hosts at its address.",
    "url pages": "Raise pages of the [[budget]] that it matches, for URLs that are found from then on.",
    "visits": "It answered with redirects and errors only; raise --host-pages to go on.",
    "outside": "The URLs are out of scope: see --scope.",
    "robots": "robots.txt disallows it.",
}


def remedy_of(reason: str) -> str:
    """Return what to do about a reason; empty if there is nothing to say."""
    return REMEDIES.get(reason, "")
