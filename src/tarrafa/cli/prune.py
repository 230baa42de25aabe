"""`tarrafa prune`: remove old versions of pages."""

from pathlib import Path
from typing import Annotated

import typer

from tarrafa.agent import CrawlFolder
from tarrafa.cli.common import configured, folder_option, option, show_json, switch
from tarrafa.collection.retention import bounds_of, prune_versions
from tarrafa.errors import InputError
from tarrafa.keep.retention import RemovedVersions, VersionBounds
from tarrafa.units import format_duration, format_size

EXAMPLES = [
    ("tarrafa prune --dir crawl --versions 3", "keep the newest three versions of each page"),
    ("tarrafa prune --dir crawl --version-age 90d", "remove what was replaced more than 90 days ago"),
    ("tarrafa prune --dir crawl --versions 1 --dry-run", "tell what would be removed"),
]


def command(
    context: typer.Context,
    directory: Annotated[Path, folder_option("folder of the crawl, which must not run")],
    versions: Annotated[int | None, option("keep.versions")] = None,
    version_age: Annotated[str | None, option("keep.version_age")] = None,
    is_dry: Annotated[bool, switch("--dry-run", "only tell what would be removed")] = False,
    as_json: Annotated[bool, switch("--json", "print one JSON object")] = False,
) -> None:
    """Remove old versions of pages from a crawl that does not run. The newest version of a page always stays.

    The history of a page still tells when removed versions were fetched. It can be killed and run again at any time.
    """
    folder = CrawlFolder(directory)
    folder.require()
    configuration = configured(context, {"keep.versions": versions, "keep.version_age": version_age}, folder)
    bounds = bounds_of(configuration.keep)
    if not bounds.are_set:
        raise InputError("all versions are kept; give --versions N or --version-age AGE, or set keep.versions")
    removed = prune_versions(folder, bounds, is_dry=is_dry)
    if as_json:
        show_json({**removed._asdict(), "is_dry_run": is_dry})
    else:
        typer.echo(_told(removed, bounds, is_dry))


def _told(removed: RemovedVersions, bounds: VersionBounds, is_dry: bool) -> str:
    limits = [f"the newest {bounds.versions:,} of each page"] if bounds.versions > 1 else ["the newest of each page"]
    if bounds.age_seconds is not None:
        limits.append(f"those replaced within {format_duration(bounds.age_seconds)}")
    what = f"{removed.versions:,} versions, {removed.links:,} links"
    files = f"{removed.archive_files:,} archive files ({format_size(removed.archive_bytes)})"
    return f"{'Would remove' if is_dry else 'Removed'} {what} and {files}. Kept: {' and '.join(limits)}."
