import type { PdMember } from '../endpoints/pd-pool';
import type { Candidate } from './candidate';

/** Pods of one role, and how one decision sees them. */
export interface PairSide {
  readonly members: readonly PdMember[];
  readonly candidates: readonly Candidate[];
}

/** Pods that may pair with each other: one group, one revision. */
export interface PairClass {
  readonly group: string;
  readonly prefill: PairSide;
  readonly decode: PairSide;
}

/** Sorts pods by group and revision; those that have nobody of the other role are left out. */
export function pairClasses(prefill: PairSide, decode: PairSide): readonly PairClass[] {
  const classes = new Map<string, { group: string; prefill: Filling; decode: Filling }>();
  for (const [role, { members, candidates }] of [['prefill', prefill] as const, ['decode', decode] as const]) {
    members.forEach((member, i) => {
      const { group, revision } = member.place;
      const key = `${group}\n${revision}`;
      const found = classes.get(key) ?? { group, prefill: new Filling(), decode: new Filling() };
      classes.set(key, found);
      found[role].members.push(member);
      found[role].candidates.push(candidates[i]!);
    });
  }
  return [...classes.values()].filter((each) => each.prefill.members.length > 0 && each.decode.members.length > 0);
}

class Filling implements PairSide {
  readonly members: PdMember[] = [];
  readonly candidates: Candidate[] = [];
}
