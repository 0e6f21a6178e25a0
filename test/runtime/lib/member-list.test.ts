import fc from 'fast-check';
import { type ListMember, MemberList } from '../../../runtime/lib/member-list';

class Member implements ListMember {
  listIndex = -1;
}

function membersOf<T extends ListMember>(list: MemberList<T>): Set<T> {
  const seen = new Set<T>();
  list.visitAll((member) => {
    expect(seen.has(member)).toBe(false);
    seen.add(member);
  });
  return seen;
}

describe('a list of members', () => {
  test('holds what a set holds, whatever is added and removed', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9)), (moves) => {
        const members = Array.from({ length: 10 }, () => new Member());
        const list = new MemberList<Member>();
        const expected = new Set<Member>();
        for (const move of moves) {
          const member = members[move]!;
          if (expected.delete(member)) list.remove(member);
          else {
            expected.add(member);
            list.add(member);
          }
          expect(list.size).toBe(expected.size);
        }
        expect(membersOf(list)).toEqual(expected);
      }),
    );
  });

  test('leaves a member alone that it does not hold', () => {
    const [first, second] = [new Member(), new Member()];
    const list = new MemberList<Member>();
    list.add(first);
    list.remove(second);
    list.remove(first);
    list.remove(first);
    expect(list.size).toBe(0);
  });

  test('may lose and gain members while it is gone through', () => {
    const members = Array.from({ length: 6 }, () => new Member());
    const list = new MemberList<Member>();
    for (const member of members) list.add(member);
    const visited: Member[] = [];
    list.visitAll((member) => {
      visited.push(member);
      for (const each of members) list.remove(each);
      list.add(new Member());
    });
    expect(visited[0]).toBe(members[5]);
    expect(visited.filter((member) => members.includes(member))).toHaveLength(1);
  });
});
