"""The answers for programs: the same facts as on the pages, as plain values."""

from typing import Any

from tarrafa.search import Hit, Results
from tarrafa.serve.facts import Facts, Visit
from tarrafa.serve.showing import iso


def results_told(results: Results | None, query: str) -> dict[str, Any]:
    """A collection in which nothing is indexed has no results."""
    if results is None:
        return {
            "query": query, "count": 0, "is_estimated": False, "seconds": 0.0, "page": 1, "suggestion": None,
            "filters": [], "hits": [], "is_indexed": False,
        }  # fmt: skip
    return {
        "query": query,
        "count": results.count,
        "is_estimated": results.is_estimated,
        "seconds": round(results.seconds, 6),
        "page": results.page,
        "suggestion": results.suggestion,
        "filters": [each._asdict() for each in results.filters],
        "hits": [_hit_told(hit) for hit in results.hits],
        "is_indexed": True,
    }


def _hit_told(hit: Hit) -> dict[str, Any]:
    return {
        "url": hit.url,
        "title": hit.title,
        "snippet": [{"text": text, "is_marked": is_marked} for text, is_marked in hit.snippet],
        "site": hit.site,
        "host": hit.host,
        "language": hit.language,
        "fetched_at": iso(hit.fetched_at),
        "published_at": None if hit.published_at is None else iso(hit.published_at),
        "score": hit.score,
        "rank": hit.rank,
        "copies": list(hit.copies),
        "explanation": hit.explanation or None,
    }


def facts_told(facts: Facts, hit: Hit | None, position: int | None) -> dict[str, Any]:
    standing = facts.standing
    return {
        "url": facts.url,
        "title": facts.title,
        "description": facts.description,
        "media_type": facts.media_type,
        "language": facts.language,
        "canonical": facts.canonical,
        "directives": list(facts.directives),
        "published_at": None if facts.published_at is None else iso(facts.published_at),
        "modified_at": None if facts.modified_at is None else iso(facts.modified_at),
        "visits": [_visit_told(visit) for visit in facts.visits],
        "links_out": [link._asdict() for link in facts.links_out],
        "links_out_count": facts.links_out_count,
        "links_in": [{"url": link.url, "text": link.text, "fetched_at": iso(link.at)} for link in facts.links_in],
        "links_in_count": facts.links_in_count,
        "is_links_in_bounded": facts.is_links_in_bounded,
        "copies": facts.copies,
        "status_line": facts.status_line,
        "headers": [list(pair) for pair in facts.headers],
        "rank": standing.rank if standing else None,
        "host_rank": standing.host_rank if standing else None,
        "anchors": [{"text": text, "hosts": count} for text, count in standing.anchors] if standing else [],
        "may_copy": facts.may_copy,
        "position": position,
        "explanation": hit.explanation if hit else None,
    }


def _visit_told(visit: Visit) -> dict[str, Any]:
    return {
        "fetched_at": iso(visit.at),
        "outcome": visit.outcome,
        "status": visit.status,
        "size_bytes": visit.size_bytes,
        "is_changed": visit.is_changed,
    }
