import pytest

from tarrafa.configuration import Configuration, contact, is_public_name, require_contact
from tarrafa.errors import ContactMissingError


@pytest.mark.parametrize(
    ("user_agent", "found"),
    [
        ("Name/1.0 (+https://your.site/bot; you@your.site)", "https://your.site/bot"),
        ("Name/1.0 (you@your.site)", "you@your.site"),
        ("Name/1.0 +http://a.example/bot.html", "http://a.example/bot.html"),
        ("Name/1.0 <you+bots@your.site>", "you+bots@your.site"),
        ("Tarrafa/0.1.0", None),
        ("Name/1.0 (https://your.site)", None),
        ("Name/1.0 (you@localhost)", None),
        ("Name/1.0 (@)", None),
        ("Name/1.0 (+https://)", None),
    ],
)
def test_contact_is_an_address_with_a_plus_or_an_e_mail(user_agent: str, found: str | None) -> None:
    assert contact(user_agent) == found


OWN_NAMES = ["localhost", "LOCALHOST.", "a.localhost", "x.test", "x.example", "x.invalid", "pc.local", "db.internal"]
OWN_ADDRESSES = ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"]
OWN_IPV6 = ["[::1]", "[fe80::1]", "[fd00::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[64:ff9b:1::808:808]"]
OWN_INSIDE_IPV6 = ["[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"]


@pytest.mark.parametrize("name", [*OWN_NAMES, *OWN_ADDRESSES, *OWN_IPV6, *OWN_INSIDE_IPV6])
def test_own_names_and_addresses_need_no_contact(name: str) -> None:
    assert not is_public_name(name)
    require_contact("Tarrafa/0.1.0", [f"http://{name}"])


@pytest.mark.parametrize(
    "name", ["example.org", "a.test.br", "local.br", "8.8.8.8", "[2606:4700::1111]", "[64:ff9b::808:808]"]
)
def test_public_host_is_not_visited_without_a_contact(name: str) -> None:
    assert is_public_name(name)
    with pytest.raises(ContactMissingError, match=r"\[crawl\] user_agent = .*--user-agent"):
        require_contact(Configuration().crawl.user_agent, ["http://localhost", f"https://{name}:81"])
    require_contact("Name/1.0 (you@your.site)", [f"http://{name}"])
