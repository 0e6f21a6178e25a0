import { createHash } from 'node:crypto';

/** A Lua script that Redis knows by its hash after it ran once. */
export class RedisScript {
  readonly sha1: string;

  constructor(readonly source: string) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }
}
