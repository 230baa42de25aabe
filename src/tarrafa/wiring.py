"""Build the objects of a crawl from its configuration. Only this module chooses implementations."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tarrafa.addresses import parse_address
from tarrafa.agent import (
    LARGEST,
    REFRESHES,
    Agent,
    Checkpoints,
    CrawlFolder,
    CrawlHooks,
    CrawlLimits,
    DroppedParameters,
    FileHostJournal,
    Follow,
    Frontier,
    HostDatabase,
    HostRecord,
    HostTable,
    Ingest,
    PageReader,
    Policies,
    Refreshes,
    RefreshIntervals,
    RefreshLooks,
    RefreshMode,
    RefreshSettings,
    RunLimits,
    Store,
    UrlCleaner,
    Weighing,
    checkpoint_of,
    continue_round,
    make_brain,
)
from tarrafa.clock import Clock, SystemClock, instant_of
from tarrafa.configuration import KEYS, Configuration, HostTables, PolitenessSection, contact, is_public_host
from tarrafa.errors import ConfigurationError, InputError
from tarrafa.explain.evidence import HostDelay
from tarrafa.extract import ExtractOptions
from tarrafa.fetch import CurlTransport, MediaTypes, Resolver, parse_name_servers, parse_proxy
from tarrafa.histories import DAY_SECONDS
from tarrafa.keep import ArchiveSettings, HeadReader, open_archive
from tarrafa.obey import product_token
from tarrafa.refresh import HINTS_LIMIT, POLICIES, Optimal, RefreshHints, RefreshPolicy, RoundSettings
from tarrafa.schedule import (
    FROM_OUTSIDE,
    Backlinks,
    BestHosts,
    ConstantDelay,
    DeadlineDelay,
    DelayPolicy,
    Delays,
    DensityDelay,
    FastestHost,
    Fifo,
    HeaviestFirst,
    LargestHost,
    Level,
    Lifo,
    Mix,
    MixSettings,
    Order,
    OwnOrder,
    RandomOrder,
    RetryPolicy,
    Scope,
    ScopeRules,
    TenTimesDelay,
    UrlBounds,
    WeightKind,
    Workbench,
    compile_rules,
    needs_address,
    read_modifiers,
    read_weights,
    rule_of,
)
from tarrafa.texts import printable, quoted
from tarrafa.units import format_duration
from tarrafa.urls import host_name, site
from tarrafa.verify import Quota, RepositoryBounds

if TYPE_CHECKING:
    from tarrafa.explain.reader import CrawlReader
    from tarrafa.serve import SearchServer

T = TypeVar("T")


def transport(configuration: Configuration, resolver: Resolver | None = None) -> CurlTransport:
    """Return the transport for the real web. A resolver of the caller's own replaces DNS."""
    read_text(configuration, "fetch.types", MediaTypes)
    read_text(configuration, "fetch.proxy", parse_proxy)
    read_text(configuration, "fetch.name_servers", parse_name_servers)
    return CurlTransport(configuration.fetch, configuration.crawl, resolver, tables=HostTables(configuration.hosts))


def agent(
    configuration: Configuration,
    folder: CrawlFolder,
    seeds: tuple[str, ...],
    limits: RunLimits,
    resolver: Resolver | None = None,
    bounds: RepositoryBounds | None = None,
    hooks: CrawlHooks | None = None,
) -> Agent:
    """Return an agent for a crawl in its folder, new or continued. `seeds` are all that the crawl ever had."""
    clock = SystemClock()
    web = transport(configuration, resolver)
    policies = Policies(
        scope(configuration, seeds),
        order(configuration),
        crawl_limits(configuration, limits),
        product_token(configuration.crawl.user_agent),
        hooks,
        configuration.crawl.trap_watch,
        Follow(configuration.crawl.follow),
    )
    url_keys = policies.order.url_keys
    weighing, rating = _weighing(policies.order, folder), _rating(policies.order, folder, limits)
    store = Store(folder, bounds or repository_bounds(configuration), url_keys, weighing, rating)
    try:
        archive = open_archive(folder.archive, store.checkpoint.end, clock, _archive_settings(configuration))
        journal = FileHostJournal(folder.host_journal)
        totals = store.checkpoint.totals
        hosts = HostTable(HostDatabase(folder.hosts), journal, totals["hosts"], largest_count=totals[LARGEST])
    except BaseException:
        store.close()
        raise
    is_restarted = store.checkpoint.number > 0
    bench = workbench(configuration, clock, is_restarted=is_restarted)
    brain = make_brain(hosts, bench, policies, is_known=web.is_known)
    checkpoints = Checkpoints(store, archive, hosts, clock, configuration.keep.checkpoint_seconds)
    reader = PageReader(_options(configuration), configuration.fetch.body_limit_bytes, url_cleaner(configuration))
    hints = RefreshHints(0 if limits.mode is RefreshMode.NOTHING else HINTS_LIMIT)
    refreshes = Refreshes(HeadReader(folder.archive), policies.limits.tables, hints)
    ingest = Ingest(
        *(archive, web.request_headers, reader, brain.discovery, brain.visits, checkpoints, clock, refreshes, hooks)
    )
    looks = _looks(configuration, folder, limits, store, brain.frontier, clock, hints)
    return Agent(brain, web, archive, ingest, checkpoints, clock, limits, looks)


def _looks(
    configuration: Configuration,
    folder: CrawlFolder,
    limits: RunLimits,
    store: Store,
    frontier: Frontier,
    clock: Clock,
    hints: RefreshHints,
) -> RefreshLooks | None:
    """Return what chooses collected pages that are visited again; None if none is. A round goes on after a kill."""
    if limits.mode is RefreshMode.NOTHING:
        return None
    settings, refreshes, began_at = refresh_settings(configuration, limits), 0, clock.now()
    if limits.mode is not RefreshMode.FOREVER:
        totals = store.checkpoint.totals
        _, began_at, refreshes = continue_round(folder.round, limits.mode, clock.now(), totals[REFRESHES])
    return RefreshLooks(store.refresher(settings, began_at, instant_of(clock)), frontier, refreshes, hints)


def refresh_settings(configuration: Configuration, limits: RunLimits) -> RefreshSettings:
    return RefreshSettings(
        limits.mode,
        refresh_policy(configuration),
        refresh_intervals(configuration),
        RoundSettings(configuration.refresh.rate),
        limits.refreshes,
        configuration.refresh.pages,
        configuration.politeness.delay_seconds,
    )


def url_cleaner(configuration: Configuration) -> UrlCleaner:
    tables = HostTables(configuration.hosts)
    return read_text(configuration, "urls.drop_parameters", lambda text: UrlCleaner(text, tables))


def check(configuration: Configuration, seeds: tuple[str, ...]) -> None:
    """Check the settings that only a room can parse, before anything is written."""
    read_text(configuration, "fetch.types", MediaTypes)
    read_text(configuration, "fetch.proxy", parse_proxy)
    read_text(configuration, "fetch.name_servers", parse_name_servers)
    url_cleaner(configuration)
    _check_tables(configuration)
    scope(configuration, seeds)
    order(configuration)
    repository_bounds(configuration)
    refresh_intervals(configuration)


def _check_tables(configuration: Configuration) -> None:
    """Check what host tables say that only a room can parse, and what does not go together."""
    for table in configuration.hosts:
        if table.address is not None and configuration.fetch.proxy != "none":
            origin = table.origins.get("address", "").removeprefix("file ")
            raise ConfigurationError(f"{origin}: [[host]] address: a proxy connects by name; remove it, or the proxy")
        if table.drop_parameters is not None:
            try:
                DroppedParameters(table.drop_parameters)
            except InputError as error:
                origin = table.origins.get("drop_parameters", "").removeprefix("file ")
                raise ConfigurationError(f"{origin}: [[host]] drop_parameters: {error}") from error


def require_seed_in_scope(configuration: Configuration, seeds: tuple[str, ...]) -> None:
    """Refuse a scope that leaves out every seed, as a misspelt word does: it is taken for a suffix."""

    found = scope(configuration, seeds, is_told=True)  # a missing contact has an error of its own

    def read(text: str) -> None:
        if seeds and all(found.judge(url, FROM_OUTSIDE) is not None for url in seeds):
            known = '"any", "seeds" (the sites of the seeds), or a suffix of host names such as "br"'
            by_rule = " with the rules" if configuration.scope_rules else ""
            raise InputError(f"{quoted(text)}{by_rule} leaves out every seed; write {known}")

    read_text(configuration, "crawl.scope", read)


def scope(configuration: Configuration, seeds: tuple[str, ...], *, is_told: bool = False) -> Scope:
    """Return the scope. Without a contact, hosts of the public web are out of scope, unless the user is told apart."""
    section, tables = configuration.crawl, HostTables(configuration.hosts)
    rule = read_text(configuration, "crawl.scope", partial(rule_of, seeds=seeds))
    bounds = UrlBounds(section.url_chars, section.depth, section.repeated_segments)
    rules = compile_rules(configuration.scope_rules, seeds)
    if configuration.fetch.proxy != "none" and needs_address(rules):
        raise ConfigurationError("net: and country: need addresses, and only the proxy knows them; remove these rules")
    if is_told or contact(section.user_agent) is not None:
        return Scope(rule, bounds, own=ScopeRules(rules, section.hops_outside))
    own = ScopeRules(rules, section.hops_outside, lambda host: not is_public_host(host, tables))
    return Scope(rule, bounds, own=own)


def crawl_reader(configuration: Configuration, folder: CrawlFolder) -> "CrawlReader":
    """Return what explains the URLs and hosts of a crawl."""
    from tarrafa.explain.reader import CrawlReader, CrawlRules  # a crawl does not need it

    judge = scope(configuration, folder.known_seeds().urls)
    limits = crawl_limits(configuration, RunLimits())
    delays, largest_count = _delays(configuration.politeness), checkpoint_of(folder.hosts).totals[LARGEST]

    def delay_of(record: HostRecord) -> HostDelay:
        address = limits.tables.of(record.name).address or record.address or host_name(record.name)
        traits = limits.traits(record, () if parse_address(address) is None else (address,), largest_count)
        seconds = delays.host_seconds(traits, record.download_seconds if record.answers else None)
        connections = 1 if configuration.politeness.by == "site" else traits.connections
        if 0 < traits.crawl_delay_seconds == seconds:
            return HostDelay(seconds, "Crawl-delay of robots.txt", connections)
        is_own = traits.delay_seconds == seconds
        rule = "delay of its [[host]] table" if is_own else _delay_rule(configuration, seconds)
        return HostDelay(seconds, rule, connections)

    rules = CrawlRules(
        judge.judge_known,
        lambda host: None if judge.admits(host) else judge.judge(f"{host}/", 0),
        delay_of,
        limits.priority_of,
        limits.page_limit_of,
        product_token(configuration.crawl.user_agent),
        _order_of_reader(configuration).url_keys,
        refresh_settings(configuration, RunLimits()),
        configuration.refresh.policy,
    )
    return CrawlReader(folder, rules)


def _delay_rule(configuration: Configuration, seconds: float) -> str:
    section = configuration.politeness
    if section.policy == "constant":
        return "politeness.delay" if seconds == section.delay_seconds else "the shortest delay of hosts not your own"
    return f"politeness.policy {section.policy}"


def workbench(configuration: Configuration, clock: Clock, is_restarted: bool) -> Workbench:
    section = configuration.politeness
    retry_policy = RetryPolicy(
        tries_limit=section.tries,
        failures_limit=section.failures,
        suspensions_limit=section.suspensions,
        first_seconds=section.back_off_seconds,
        ceiling_seconds=section.back_off_ceiling_seconds,
        first_suspension_seconds=section.suspension_seconds,
    )
    delays = _delays(section)
    restarted_at = clock.monotonic() if is_restarted else None
    site_of = (lambda host: site(host_name(host))) if section.by == "site" else None
    hosts_limit = section.hosts_limit
    if configuration.crawl.order == "best-hosts":
        hosts_limit = min(hosts_limit, configuration.order.best_hosts)
    return Workbench(delays, retry_policy, hosts_limit=hosts_limit, restarted_at=restarted_at, site_of=site_of)


def _delays(section: PolitenessSection) -> Delays:
    return Delays(delay_policy(section), section.address_delay_seconds)


def delay_policy(section: PolitenessSection) -> DelayPolicy:
    if section.policy == "ten-times":
        return TenTimesDelay(section.floor_seconds, section.ceiling_seconds)
    if section.policy == "density":
        return DensityDelay(section.longest_seconds, section.pages_max)
    if section.policy == "deadline":
        return DeadlineDelay(section.longest_seconds, section.deadline_seconds)
    return ConstantDelay(section.delay_seconds)


def crawl_limits(configuration: Configuration, limits: RunLimits) -> CrawlLimits:
    names = [name.strip().lower() for name in configuration.politeness.own_hosts.split(",")]
    section = configuration.crawl
    return CrawlLimits(
        in_flight=section.in_flight,
        hosts=limits.hosts,
        host_pages=section.host_pages,
        site_pages=section.site_pages,
        address_pages=section.address_pages,
        url_budgets=configuration.budgets,
        star_pages=section.star_pages if section.budget == "star" else None,
        own_hosts=frozenset(name for name in names if name not in ("", "none")),
        allow_private=section.allow_private,
        has_contact=contact(section.user_agent) is not None,
        longest_share=configuration.order.longest_share,
        tables=HostTables(configuration.hosts),
        probes_sitemaps=section.follow == Follow.SITEMAPS,
        refresh_share=configuration.refresh.share,
        retries_given_up=limits.mode is RefreshMode.FOREVER,
    )


def repository_bounds(configuration: Configuration) -> RepositoryBounds:
    section = configuration.repository
    if section.refill_below > section.scheduled:
        told = f"is greater than scheduled = {section.scheduled}; make it smaller"
        raise ConfigurationError(f"[repository] refill_below = {section.refill_below} {told}")
    return RepositoryBounds(hosts=section.block_hosts, quota=Quota(section.scheduled, section.refill_below))


def refresh_intervals(configuration: Configuration) -> RefreshIntervals:
    """Return the bounds of the time between two visits to a page."""
    section = configuration.refresh
    _check_interval("[refresh] longest", "shortest", section.shortest_seconds, section.longest_seconds)
    for table in configuration.hosts:
        shortest = _default(table.refresh_shortest_seconds, section.shortest_seconds)
        longest = _default(table.refresh_longest_seconds, section.longest_seconds)
        key = "refresh_longest" if table.refresh_longest_seconds is not None else "refresh_shortest"
        place = f"{table.origins.get(key, '').removeprefix('file ')}: [[host]] refresh_longest"
        _check_interval(place, "refresh_shortest", shortest, longest)
    return RefreshIntervals(section.shortest_seconds, section.longest_seconds, HostTables(configuration.hosts))


def _check_interval(place: str, other: str, shortest: float, longest: float) -> None:
    if longest < shortest:
        told = f'is shorter than {other} = "{format_duration(shortest)}"; make it longer'
        raise ConfigurationError(f'{place} = "{format_duration(longest)}" {told}')


def _default(value: float | None, general: float) -> float:
    return general if value is None else value


def refresh_policy(configuration: Configuration) -> RefreshPolicy:
    """Return what tells which collected pages are visited again first."""
    section = configuration.refresh
    if section.policy == "optimal":
        return Optimal(section.tolerance_seconds / DAY_SECONDS)
    return POLICIES[section.policy]


def order(configuration: Configuration) -> Order:
    """Return the policy of a crawl, by its name, or of the user's own class."""
    name = configuration.crawl.order
    if ":" in name:
        return read_text(configuration, "crawl.order", own_order)
    return _ORDERS[name](configuration)


def _order_of_reader(configuration: Configuration) -> Order:
    """Return the policy by which a reader tells the place of a URL in the queue of its host.

    A class of the user's own is not loaded: the folder may be a stranger's, and reading must not run its code.
    """
    return Level() if ":" in configuration.crawl.order else order(configuration)


def own_order(text: str) -> Order:
    """Return an object of the user's own class, given as `module:Class`. The module may be in the current folder."""
    module_name, _, class_name = text.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found = getattr(import_module(module_name), class_name)()
    except Exception as error:
        raise InputError(f"{quoted(text)} cannot be used: {printable(f'{type(error).__name__}: {error}')}") from error
    return OwnOrder(found, text)


def _mix(configuration: Configuration) -> Order:
    return Mix(
        MixSettings(
            read_text(configuration, "order.weights", read_weights),
            read_text(configuration, "order.suffixes", read_modifiers),
            read_text(configuration, "order.languages", read_modifiers),
        )
    )


_ORDERS: dict[str, Callable[[Configuration], Order]] = {
    "level": lambda _: Level(),
    "fifo": lambda _: Fifo(),
    "lifo": lambda _: Lifo(),
    "backlinks": lambda _: Backlinks(),
    "pagerank": lambda _: HeaviestFirst(WeightKind.RANK),
    "opic": lambda _: HeaviestFirst(WeightKind.CASH),
    "largest-host": lambda _: LargestHost(),
    "fastest-host": lambda _: FastestHost(),
    "best-hosts": lambda _: BestHosts(),
    "random": lambda configuration: RandomOrder(configuration.order.random_seed),
    "mix": _mix,
}


def _weighing(policy: Order, folder: CrawlFolder) -> Weighing | None:
    """Return the ranks that a policy needs, computed beside the crawl."""
    if policy.weight in (WeightKind.RANK, WeightKind.HOST_RANK):
        from tarrafa.collection.rank_refresh import RankRefresh  # few crawls need it

        return RankRefresh(folder.root, of_hosts=policy.weight is WeightKind.HOST_RANK)
    return None


def _rating(policy: Order, folder: CrawlFolder, limits: RunLimits) -> Weighing | None:
    """Return the ranks that tell the importance of pages.

    A crawl that goes on for ever computes new ones, unless its order does so.
    """
    if limits.mode in (RefreshMode.FOREVER, RefreshMode.ROUND):
        from tarrafa.collection.rank_refresh import RankRefresh  # few crawls need it

        is_ranked = policy.weight in (WeightKind.RANK, WeightKind.HOST_RANK)
        return RankRefresh(folder.root, computes=limits.mode is RefreshMode.FOREVER and not is_ranked)
    return None


def _options(configuration: Configuration) -> ExtractOptions:
    return ExtractOptions(
        images=configuration.extract.images, robots_name=product_token(configuration.crawl.user_agent)
    )


def _archive_settings(configuration: Configuration) -> ArchiveSettings:
    info = (
        ("http-header-user-agent", configuration.crawl.user_agent),
        ("robots", "RFC 9309"),
        ("scope", configuration.crawl.scope),
    )
    return ArchiveSettings(info=info, file_limit_bytes=configuration.keep.file_limit_bytes)


@dataclass(frozen=True, slots=True)
class SearchPageOptions:
    host: str = "127.0.0.1"
    port: int = 0
    language: str = "en"
    requests_per_second: float = 0.0  # of each client; 0 for no limit
    names: Sequence[str] = ()  # under which it is reached, besides the usual ones


def search_page(configuration: Configuration, root: Path, options: SearchPageOptions) -> "SearchServer":
    """Return the search page of a crawl, listening."""
    from tarrafa.serve import (
        ConnectionLimits,
        FactsReader,
        LiveSearch,
        RateLimit,
        SearchPage,
        SearchServer,
        SearchWorkers,
        host_names,
        listen,
        make_application,
        workers_count,
    )  # a crawl does not need it

    clock = SystemClock()
    count = workers_count()
    workers = SearchWorkers(root, LiveSearch(root, clock), count)
    rate = options.requests_per_second
    rate_limit = RateLimit(per_second=rate, burst=6 * rate)
    names = host_names(options.host, options.names)
    explain = crawl_reader(configuration, CrawlFolder(root)).explain
    page = SearchPage(workers, FactsReader(root), explain, clock, options.language, rate_limit, count, names)
    limits = ConnectionLimits()
    if not rate:
        # Without a limit for each client, all may share the address of a proxy.
        limits = replace(limits, per_client=limits.total)
    return SearchServer(make_application(page), listen(options.host, options.port), limits)


def read_text(configuration: Configuration, path: str, read: Callable[[str], T]) -> T:
    """Parse a setting with the parser of a room; an error names the setting and its origin."""
    key = KEYS[path]
    try:
        return read(configuration.value(key))
    except InputError as error:
        origin = configuration.origin(key)
        raise ConfigurationError(f"{origin.removeprefix('file ')}: [{key.section}] {key.name}: {error}") from error
