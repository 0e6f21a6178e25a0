import type { Memory } from './decide/decision';
import type { TargetHandle } from './observe/target-handle';
import type { Policy } from './policy';

/** What every policy remembers between rounds: windows and panic, in this process only. */
export class Memories {
  private readonly byPolicy = new Map<string, { readonly revision: string; readonly targets: string; readonly memory: Memory }>();

  /**
   * An edit of the policy keeps its windows; under `algorithm: kthena` it forgets them, as there. Another target, or one that was made
   * again under the same name, has no past.
   */
  of({ id, revision, spec }: Policy, handles: readonly TargetHandle[]): Memory {
    const known = this.byPolicy.get(id);
    if (known === undefined || known.targets !== uidsOf(handles)) return {};
    return spec.algorithm.name === 'kthena' && known.revision !== revision ? {} : known.memory;
  }

  keep({ id, revision }: Policy, handles: readonly TargetHandle[], memory: Memory): void {
    this.byPolicy.set(id, { revision, targets: uidsOf(handles), memory });
  }

  /** Forgets policies that are not there any more. */
  keepOnly(policies: readonly Policy[]): void {
    const ids = new Set(policies.map(({ id }) => id));
    for (const id of this.byPolicy.keys()) if (!ids.has(id)) this.byPolicy.delete(id);
  }
}

function uidsOf(handles: readonly TargetHandle[]): string {
  return handles.map(({ uid }) => uid).join(' ');
}
