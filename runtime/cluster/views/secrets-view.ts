import { type KubeObject, keyOf } from '../../../src/api/meta';
import type { Secrets } from '../cluster';
import type { ObjectSource } from '../object-source';

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** The Secrets of a source. `stringData`, which only manifests have, wins over `data`, as in the API server. */
export class SecretsView implements Secrets {
  constructor(private readonly source: ObjectSource) {}

  byLabel(key: string, value: string): ReadonlyMap<string, Readonly<Record<string, Buffer>>> {
    const found = new Map<string, Readonly<Record<string, Buffer>>>();
    for (const object of this.source.list({ group: '', kind: 'Secret' })) {
      if (object.metadata.labels?.[key] === value) found.set(keyOf(object), decoded(object));
    }
    return found;
  }

  changed(listener: () => void): () => void {
    let delivery: NodeJS.Immediate | undefined;
    const unlisten = this.source.listen((object) => {
      if (object.kind !== 'Secret' || object.apiVersion !== 'v1') return;
      delivery ??= setImmediate(() => {
        delivery = undefined;
        listener();
      });
    });
    return () => {
      unlisten();
      if (delivery !== undefined) clearImmediate(delivery);
    };
  }
}

function decoded({ data, stringData }: Secret): Readonly<Record<string, Buffer>> {
  return Object.freeze({
    ...mapped(data, (text) => Buffer.from(text, 'base64')),
    ...mapped(stringData, (text) => Buffer.from(text, 'utf8')),
  });
}

function mapped(entries: Readonly<Record<string, string>> | undefined, decode: (text: string) => Buffer): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(entries ?? {}).map(([key, text]) => [key, decode(String(text))]));
}
