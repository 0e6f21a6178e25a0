import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RedisConnection, RedisUnavailable } from '../../../runtime/lib/redis-connection';
import { RedisScript } from '../../../runtime/lib/redis-script';
import { wallClock } from '../../../runtime/lib/wall-clock';
import type { RedisConfig } from '../../../src/config/redis-config';
import { hasRedisServer, RedisServer } from '../../helpers/redis-server';
import { until } from '../../helpers/router-harness';
import { temporaryFolders } from '../../helpers/temporary-folder';

const TLS = join(__dirname, '../../fixtures/tls');
const ECHO = new RedisScript('return { KEYS[1], ARGV[1] }');

(hasRedisServer() ? describe : describe.skip)('a connection to Redis', () => {
  const folder = temporaryFolders();
  const opened: { close(): unknown }[] = [];
  const told: (readonly [boolean, string | undefined])[] = [];

  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
    told.length = 0;
  });

  async function server(...args: readonly string[]): Promise<RedisServer> {
    const made = await RedisServer.start(...args);
    opened.push({ close: () => made.stop() });
    return made;
  }

  function connect(config: RedisConfig): RedisConnection {
    const made = new RedisConnection({ config, clock: wallClock(), onChange: (...change) => told.push(change) });
    opened.push(made);
    return made;
  }

  it('is made when it is first needed', async () => {
    const redis = await server();
    const connection = connect({ address: redis.address });
    expect(connection.isUp).toBe(false);
    await expect(connection.use((client) => client.ping())).rejects.toBeInstanceOf(RedisUnavailable);
    expect(await connection.ready()).toBe(true);
    expect(await connection.use((client) => client.ping())).toBe('PONG');
    expect(told).toEqual([[true, undefined]]);
  });

  it('runs scripts that the server does not know yet, and again after it forgot them', async () => {
    const redis = await server();
    const connection = connect({ address: redis.address });
    await connection.ready();
    expect(await connection.run(ECHO, ['key'], [1])).toEqual(['key', '1']);
    await connection.use((client) => client.script('FLUSH'));
    expect(await connection.run(ECHO, ['key'], [2])).toEqual(['key', '2']);
  });

  it('reads the password anew at each try, so that a renewed one counts', async () => {
    const passwordFile = join(folder(), 'password');
    writeFileSync(passwordFile, 'old\n');
    const redis = await server('--requirepass', 'old');
    const connection = connect({ address: redis.address, passwordFile });
    expect(await connection.ready()).toBe(true);
    await redis.stop();
    await redis.start(['--requirepass', 'new']);
    await until(() => told.length > 1 && !connection.isUp, 'it is lost');
    writeFileSync(passwordFile, 'new');
    await until(() => connection.isUp, 'it is back', 10_000);
    expect(await connection.use((client) => client.ping())).toBe('PONG');
  });

  it('says that a password is wrong, without the password', async () => {
    const passwordFile = join(folder(), 'password');
    writeFileSync(passwordFile, 'mistaken\n');
    const redis = await server('--requirepass', 'right');
    expect(await connect({ address: redis.address, passwordFile }).ready()).toBe(false);
    expect(told[0]![0]).toBe(false);
    expect(told[0]![1]).toMatch(/WRONGPASS/);
    expect(told[0]![1]).not.toContain('mistaken');
  });

  it('takes a user of the access list', async () => {
    const redis = await server();
    await redis.with((client) => client.call('ACL', 'SETUSER', 'kvasir', 'on', '>secret', '~*', '+@all'));
    const passwordFile = join(folder(), 'password');
    writeFileSync(passwordFile, 'secret');
    const connection = connect({ address: redis.address, username: 'kvasir', passwordFile });
    expect(await connection.ready()).toBe(true);
    expect(await connection.use((client) => client.call('ACL', 'WHOAMI'))).toBe('kvasir');
  });

  it('checks the server’s certificate', async () => {
    const redis = await RedisServer.startTls(join(TLS, 'server.pem'), join(TLS, 'server-key.pem'));
    opened.push({ close: () => redis.stop() });
    const tls = { caFile: join(TLS, 'authority.pem'), serverName: 'localhost' };
    const trusted = connect({ address: redis.address, tls });
    expect(await trusted.ready()).toBe(true);
    expect(await trusted.use((client) => client.ping())).toBe('PONG');
    expect(await connect({ address: redis.address, tls: { serverName: 'localhost' } }).ready()).toBe(false);
    expect(await connect({ address: redis.address, tls: { ...tls, serverName: 'other.example.com' } }).ready()).toBe(false);
  });

  it('gives up on a server that takes the connection and says nothing', async () => {
    const redis = await server();
    redis.freeze();
    opened.push({ close: () => redis.thaw() });
    const connection = connect({ address: redis.address });
    const beganMs = Date.now();
    expect(await connection.ready()).toBe(false);
    expect(Date.now() - beganMs).toBeLessThan(2_000);
    expect(connection.ready()).toBe(false);
  });

  it('answers at once while the server is away, and is made again in the background', async () => {
    const redis = await server();
    const connection = connect({ address: redis.address });
    await connection.ready();
    await redis.stop();
    await until(() => !connection.isUp, 'it is lost');
    expect(connection.ready()).toBe(false);
    await redis.start();
    await until(() => connection.isUp, 'it is back');
    expect(told.map(([isUp]) => isUp)).toEqual([true, false, true]);
  });
});
