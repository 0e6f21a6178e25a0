import type { ExternalModelProvider } from '../../../src/api/external-model-provider';
import type { Reflector } from './reflector';

/** Which Secrets an image may see. RBAC can grant Secrets by name, and whole namespaces, but not by label. */
export interface WatchedSecrets {
  /** `namespace/name` of each. */
  readonly names: readonly string[];
  /** Labels (`key=value`) by which Secrets of every namespace are found. Needs rights on all Secrets. */
  readonly labels: readonly string[];
  /** Whether those that ExternalModelProviders name are seen too. */
  readonly ofProviders: boolean;
}

/** Opens a reflector on one Secret by name, or on all with a label. */
export interface SecretReflectors {
  byName(namespace: string, name: string): Reflector;
  byLabel(label: string): Reflector;
}

/** Watches each wanted Secret by its name. Those of providers come and go with the providers. */
export class SecretWatches {
  private readonly fixed: readonly Reflector[];
  private readonly named = new Map<string, Reflector>();

  constructor(
    private readonly wanted: WatchedSecrets,
    private readonly reflectors: SecretReflectors,
  ) {
    this.fixed = wanted.labels.map((label) => reflectors.byLabel(label));
    this.follow([]);
  }

  /** Takes note of which providers there are now. */
  follow(providers: readonly ExternalModelProvider[]): void {
    const names = new Set(this.wanted.names);
    if (this.wanted.ofProviders) {
      for (const { metadata, spec } of providers) {
        if (spec.auth !== undefined) names.add(`${metadata.namespace ?? 'default'}/${spec.auth.secretRef.name}`);
      }
    }
    for (const [key, reflector] of this.named) {
      if (names.has(key)) continue;
      this.named.delete(key);
      void reflector.close();
      reflector.forget();
    }
    for (const key of names) {
      if (this.named.has(key)) continue;
      const slash = key.indexOf('/');
      this.named.set(key, this.reflectors.byName(key.slice(0, slash), key.slice(slash + 1)));
    }
  }

  all(): readonly Reflector[] {
    return [...this.fixed, ...this.named.values()];
  }
}
