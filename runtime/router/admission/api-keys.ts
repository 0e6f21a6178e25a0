import { hash, timingSafeEqual } from 'node:crypto';
import { decodeApiKeyEntry } from '../../../src/config/api-key-entry';
import type { AuthConfig } from '../../../src/config/auth-config';
import type { Finding } from '../../../src/errors';
import type { Secrets } from '../../cluster/cluster';
import { ANONYMOUS, allowedModels, type Identity } from './identity';

interface KnownKey {
  /** SHA-256 of the key; the key itself is not kept. */
  readonly digest: Buffer;
  readonly identity: Identity;
  /** Where it stands, for findings. */
  readonly place: KeyPlace;
}

interface KeyPlace {
  /** `namespace/name`. */
  readonly secret: string;
  readonly entry: string;
}

/** What a key that nobody has is compared with, so that it costs what others do. */
const NOBODYS_DIGEST = Buffer.alloc(32);

/** The API keys of the cluster's Secrets. A changed Secret counts at once; an entry that cannot be read is no key. */
export class ApiKeys {
  /** By the first bytes of the digest. Which bucket is looked at tells a stranger nothing of any key: it is a part of a hash. */
  private buckets: ReadonlyMap<number, readonly KnownKey[]> = new Map();
  private problems: readonly Finding[] = [];
  private count = 0;
  private readonly unlisten: () => void;

  /** @param onLoad called after each reading of the Secrets. */
  constructor(
    private readonly secrets: Secrets,
    private readonly config: NonNullable<AuthConfig['apiKeys']>,
    private readonly onLoad: (keys: ApiKeys) => void = () => undefined,
  ) {
    this.unlisten = secrets.changed(() => this.load());
    this.load();
  }

  /** Keys that can be used now. */
  get size(): number {
    return this.count;
  }

  /** Who has this key. Hashes are compared in constant time. */
  find(presented: string): Identity | undefined {
    const digest = hash('sha256', presented, 'buffer');
    let identity: Identity | undefined;
    const bucket = this.buckets.get(digest.readUInt32BE(0));
    if (bucket === undefined) timingSafeEqual(NOBODYS_DIGEST, digest);
    else for (const known of bucket) if (timingSafeEqual(known.digest, digest)) identity = known.identity;
    return identity;
  }

  findings(): readonly Finding[] {
    return this.problems;
  }

  close(): void {
    this.unlisten();
  }

  private load(): void {
    const { secretLabel, secrets: wanted } = this.config;
    const findings: Finding[] = [];
    const byDigest = new Map<string, KnownKey>();
    const found = this.secrets.byLabel(secretLabel, 'true');
    const names = [...found.keys()].filter((name) => wanted.length === 0 || wanted.includes(name)).sort();
    for (const name of wanted) if (!found.has(name)) findings.push(missingSecret(name, secretLabel));
    for (const name of names) {
      for (const [entry, value] of Object.entries(found.get(name)!).sort(([a], [b]) => (a < b ? -1 : 1))) {
        const place = { secret: name, entry };
        const decoded = decodeApiKeyEntry(value.toString('utf8'));
        if (decoded.kind === 'invalid') {
          findings.push(unusable(place, decoded.problem));
          continue;
        }
        const known = knownKey(decoded.entry, place);
        const digest = known.digest.toString('hex');
        const first = byDigest.get(digest);
        if (first === undefined) byDigest.set(digest, known);
        else findings.push(duplicate(place, first.place));
      }
    }
    const buckets = new Map<number, KnownKey[]>();
    for (const known of byDigest.values()) {
      const bucket = known.digest.readUInt32BE(0);
      const keys = buckets.get(bucket);
      if (keys === undefined) buckets.set(bucket, [known]);
      else keys.push(known);
    }
    this.buckets = buckets;
    this.count = byDigest.size;
    this.problems = findings;
    this.onLoad(this);
  }
}

type Entry = Extract<ReturnType<typeof decodeApiKeyEntry>, { readonly kind: 'valid' }>['entry'];

function knownKey(entry: Entry, place: KeyPlace): KnownKey {
  const identity: Identity = {
    ...ANONYMOUS,
    kind: 'api-key',
    user: entry.name ?? place.entry,
    tenant: entry.tenant,
    priorityClass: entry.priorityClass,
    models: entry.models === undefined ? 'all' : allowedModels(entry.models),
  };
  const digest = 'key' in entry ? hash('sha256', entry.key, 'buffer') : Buffer.from(entry.sha256, 'hex');
  return { digest, identity: Object.freeze(identity), place };
}

function unusable({ secret, entry }: KeyPlace, problem: string): Finding {
  return {
    code: 'auth/unusable-key',
    severity: 'error',
    object: `Secret ${secret}`,
    field: entry,
    message: `${problem}, so it is nobody's key`,
    remedy: 'write a key of 20 visible characters or more, or a JSON object with `key` or `sha256`',
  };
}

function duplicate({ secret, entry }: KeyPlace, first: KeyPlace): Finding {
  return {
    code: 'auth/duplicate-key',
    severity: 'warning',
    object: `Secret ${secret}`,
    field: entry,
    message: `has the key of ${JSON.stringify(first.entry)} in Secret ${first.secret}, which counts`,
    remedy: 'give each client a key of its own',
  };
}

function missingSecret(name: string, label: string): Finding {
  return {
    code: 'auth/missing-secret',
    severity: 'warning',
    object: `Secret ${name}`,
    message: `is named in auth.apiKeys.secrets, and there is none with the label ${label}=true`,
    remedy: 'create it with that label, or remove it from the list',
  };
}
