"""Prints SQL that makes an organization and two keys, and the keys: everything an organization's may hold, and everything
the platform's may. The format is crates/protocol/src/api_key.rs's."""

import base64
import hashlib
import json
import secrets
import sys
import uuid
import zlib

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def make():
    key_id = "".join(secrets.choice(ALPHABET) for _ in range(12))
    secret = secrets.token_bytes(32)
    shown = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    crc = zlib.crc32(f"{key_id}_{shown}".encode())
    checksum = "".join(ALPHABET[(crc >> (5 * at)) % 32] for at in range(6))
    return key_id, hashlib.sha256(secret).hexdigest(), f"pt_key_{key_id}_{shown}_{checksum}"


def insert(kind, organization, permissions):
    key_id, digest, shown = make()
    where = f"'{organization}'" if organization else "NULL"
    listed = ",".join(f'"{name}"' for name in permissions)
    return shown, (
        "INSERT INTO api_key (key_id, kind, organization_id, name, secret_hash, permissions, allowed_networks, "
        f"created_by, expires_at) VALUES ('{key_id}', '{kind}', {where}, 'schemathesis', '\\x{digest}', "
        f"'{{{listed}}}', '{{}}', 'schemathesis', now() + interval '1 day');"
    )


def main():
    document = json.load(open(sys.argv[1]))
    operations = [op for path in document["paths"].values() for op in path.values()]
    named = sorted({op["x-permission"] for op in operations if "x-permission" in op})
    platform = [name for name in named if name.startswith("platform.") or name in
                ("organizations:administer", "members:impersonate")]
    organization = str(uuid.uuid4())
    own, own_sql = insert("organization", organization, [name for name in named if name not in platform])
    all_of_it, all_sql = insert("platform", None, platform)
    print(f"-- {organization} {own} {all_of_it}")
    print(f"INSERT INTO organization_slug (slug, organization_id) VALUES ('schemathesis', '{organization}');")
    print("INSERT INTO organization (organization_id, slug, name, locale, policy) VALUES "
          f"('{organization}', 'schemathesis', 'Schemathesis', 'en', '{{}}');")
    print(own_sql)
    print(all_sql)


main()
