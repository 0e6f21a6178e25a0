import { OwnWrites } from '../../../../runtime/cluster/kubernetes/own-writes';

describe('writes of this process', () => {
  it('over one copy follow each other', () => {
    const own = new OwnWrites();
    expect(own.current('u', '1')).toBe('1');
    own.note('u', '1', '2');
    expect(own.current('u', '1')).toBe('2');
    own.note('u', '1', '3');
    expect([own.current('u', '1'), own.current('u', '3')]).toEqual(['3', '3']);
  });

  it('do not stand for a version that somebody else wrote', () => {
    const own = new OwnWrites();
    own.note('u', '1', '2');
    expect(own.current('u', '5')).toBe('5');
    expect(own.current('another', '1')).toBe('1');
  });

  it('go on from the version that the cache shows by now', () => {
    const own = new OwnWrites();
    own.note('u', '1', '2');
    own.note('u', '2', '3');
    expect(own.current('u', '2')).toBe('3');
  });
});
