/** What can be in a `MemberList`. */
export interface ListMember {
  /** Where it stands in its list; -1: in none. Only the list writes it. */
  listIndex: number;
}

/**
 * Members that come and go with every request, each added and removed at once. Not a `Set`: when V8 grows or shrinks one, the outgrown
 * table keeps its entries and points to the table after it. Once a single outgrown table is old enough to be left alone by the quick
 * collections, every later table hangs on it, and with the tables all requests of the last seconds: a router then spends a third of its
 * time on copying the dead.
 */
export class MemberList<T extends ListMember> {
  private readonly members: T[] = [];

  get size(): number {
    return this.members.length;
  }

  /** Adds a member that is in no list. */
  add(member: T): void {
    member.listIndex = this.members.length;
    this.members.push(member);
  }

  /** Removes a member; one that is in no list is left alone. */
  remove(member: T): void {
    const index = member.listIndex;
    if (index < 0) return;
    member.listIndex = -1;
    const last = this.members.pop()!;
    if (last === member) return;
    this.members[index] = last;
    last.listIndex = index;
  }

  /** Calls `visit` for each member, from the newest to the oldest; it may add and remove members. */
  visitAll(visit: (member: T) => void): void {
    for (let index = this.members.length - 1; index >= 0; index--) {
      const member = this.members[index];
      if (member !== undefined) visit(member);
    }
  }

  clear(): void {
    for (const member of this.members) member.listIndex = -1;
    this.members.length = 0;
  }
}
