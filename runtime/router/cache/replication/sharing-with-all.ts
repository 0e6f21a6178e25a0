import type { DispatchSharing } from './dispatch-sharing';

/** Tells each of them. @returns undefined when there is nobody. */
export function sharingWithAll(all: readonly DispatchSharing[]): DispatchSharing | undefined {
  if (all.length < 2) return all[0];
  return {
    dispatched: (facts) => {
      const told = all.map((each) => each.dispatched(facts));
      return {
        prefilled: () => {
          for (const each of told) each.prefilled();
        },
        ended: (isKept) => {
          for (const each of told) each.ended(isKept);
        },
      };
    },
  };
}
