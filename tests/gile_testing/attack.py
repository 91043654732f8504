"""Objects of STIX bundles, as MITRE writes them for ATT&CK."""

import json
from typing import Any

TIME = "2019-02-03T04:05:06.007Z"
Object = dict[str, Any]


def made(kind: str, number: str, /, **fields: object) -> Object:
    return {"type": kind, "id": f"{kind}--{number}", "created": TIME, "modified": TIME, **fields}


def technique(number: str, name: str, matrix: str = "enterprise", **fields: object) -> Object:
    chain = "mitre-attack" if matrix == "enterprise" else f"mitre-{matrix}-attack"
    known = {
        "name": name,
        "description": f"About {name}.",
        "external_references": [
            {"source_name": "NIST Mobile Threat Catalogue", "external_id": "AUT-10"},
            {"source_name": "mitre-attack", "external_id": number},
        ],
        "kill_chain_phases": [{"kill_chain_name": chain, "phase_name": "initial-access"}],
        "x_mitre_domains": [f"{matrix}-attack"],
        "x_mitre_is_subtechnique": "." in number,
    }
    return made("attack-pattern", number, **known | fields)


def uses(number: int, target: str, text: str | None, year: int = 2019, **fields: object) -> Object:
    """Say how a program uses a technique, named by its number, or another object."""
    target = target if "--" in target else f"attack-pattern--{target}"
    known = {
        "relationship_type": "uses",
        "source_ref": "malware--1",
        "target_ref": target,
        "created": f"{year}-07-08T09:10:11.012Z",
    }
    described = {} if text is None else {"description": text}
    return made("relationship", f"{number}", **known | described | fields)


def related(kind: str, source: str, target: str, **fields: object) -> Object:
    """Relate two techniques, named by their numbers."""
    ends = {"source_ref": f"attack-pattern--{source}", "target_ref": f"attack-pattern--{target}"}
    name = f"{kind}-{source}-{target}"
    return made("relationship", name, relationship_type=kind, **ends | fields)


def bundle(*objects: Object) -> str:
    return json.dumps({"type": "bundle", "id": "bundle--1", "objects": objects}, indent=1)
