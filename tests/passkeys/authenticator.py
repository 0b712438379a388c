"""A browser with a security key of software: authenticator.py FILE create|get ORIGIN

Reads options as JSON from standard input, as PublicKeyCredential.parse…OptionsFromJSON does, and writes what its toJSON gives.
The key is kept in FILE. Yubico's fido2 reads the options, soft-webauthn is the key.
"""

import base64
import json
import sys

from cryptography.hazmat.primitives import serialization
from fido2 import features
from fido2.webauthn import PublicKeyCredentialCreationOptions, PublicKeyCredentialRequestOptions
from soft_webauthn import SoftWebauthnDevice

features.webauthn_json_mapping.enabled = True


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def create(options, origin):
    read = PublicKeyCredentialCreationOptions.from_dict(options)
    wanted = {
        "rp": {"id": read.rp.id, "name": read.rp.name},
        "user": {"id": read.user.id, "name": read.user.name},
        "challenge": read.challenge,
        "pubKeyCredParams": [{"type": it.type.value, "alg": it.alg} for it in read.pub_key_cred_params],
        "attestation": read.attestation and read.attestation.value,
    }
    key = SoftWebauthnDevice()
    return key, key.create({"publicKey": wanted}, origin)


def get(key, options, origin):
    read = PublicKeyCredentialRequestOptions.from_dict(options)
    if key.credential_id not in [it.id for it in read.allow_credentials]:
        sys.exit("this key is not asked for")
    return key.get({"publicKey": {"rpId": read.rp_id, "challenge": read.challenge}}, origin)


def load(path):
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    key = SoftWebauthnDevice()
    key.credential_id, key.user_handle = decoded(kept["id"]), decoded(kept["user"])
    key.private_key = serialization.load_pem_private_key(kept["key"].encode(), None)
    key.rp_id, key.sign_count = kept["rp"], kept["count"]
    return key


def save(path, key):
    pem = key.private_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    kept = {
        "id": encoded(key.credential_id),
        "user": encoded(key.user_handle),
        "key": pem.decode(),
        "rp": key.rp_id,
        "count": key.sign_count,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file)


def main():
    path, verb, origin = sys.argv[1:]
    options = json.load(sys.stdin)
    if verb == "create":
        key, made = create(options, origin)
    else:
        key = load(path)
        made = get(key, options, origin)
    save(path, key)
    response = {name: encoded(data) for name, data in made["response"].items()}
    name = encoded(made["rawId"])
    answer = {
        "id": name,
        "rawId": name,
        "type": made["type"],
        "response": response,
        "authenticatorAttachment": "cross-platform",
        "clientExtensionResults": {},
    }
    print(json.dumps(answer))


main()
