import type { ServerResponse } from 'node:http';
import type { KubeObject } from '../../src/api/meta';
import type { QueueConfig } from '../../src/config/queue-config';
import { defaultRouterConfig, type RouterConfig } from '../../src/config/router-config';
import {
  type Answer,
  pod,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  type TestRouterOptions,
  until,
} from './router-harness';

/** An engine that answers when it is told to. */
export class HeldEngine extends TestEngine {
  private readonly held = new Map<string, ServerResponse>();

  constructor() {
    super((request, response) => {
      const { messages } = JSON.parse(request.body) as { messages: readonly { content: string }[] };
      this.held.set(messages[0]!.content, response);
    });
  }

  /** What the requests under way say. */
  get underWay(): readonly string[] {
    return [...this.held.keys()];
  }

  /** What came, in order. */
  get came(): readonly string[] {
    return this.received.map(
      ({ body }) => (JSON.parse(body) as { messages: readonly { content: string }[] }).messages[0]!.content,
    );
  }

  release(content: string, usage = { prompt_tokens: 10, completion_tokens: 5 }): void {
    const response = this.held.get(content);
    if (response === undefined) throw new Error(`${content} is not under way, but ${this.underWay.join(', ')}`);
    this.held.delete(content);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'chat.completion', choices: [], usage: { ...usage, total_tokens: 15 } }));
  }

  releaseAll(): void {
    for (const content of this.underWay) this.release(content);
  }
}

/** A ready pod that takes so many sequences. */
export function seatedPod(name: string, app: string, port: number, maxNumSeqs = 1): KubeObject {
  const made = pod(name, app, port) as KubeObject & { readonly spec: object };
  const args = ['--model', 'm', '--max-num-seqs', String(maxNumSeqs)];
  return { ...made, spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2', args }] } } as KubeObject;
}

type Parts = { [K in keyof RouterConfig]?: Partial<RouterConfig[K]> };

/** A configuration with parts of the queue replaced. */
export function queueConfig(queue: { [K in keyof QueueConfig]?: Partial<QueueConfig[K]> }, parts: Parts = {}): RouterConfig {
  const base = defaultRouterConfig().queue;
  const { fairness, sessionBoost, wake, ...rest } = queue;
  return routerConfig({
    drain: { announceMs: 0 },
    ...parts,
    queue: {
      ...rest,
      fairness: { ...base.fairness, ...fairness },
      sessionBoost: { ...base.sessionBoost, ...sessionBoost },
      wake: { ...base.wake, ...wake },
    } as Partial<QueueConfig>,
  });
}

export interface QueueRouter extends TestRouter {
  readonly engine: HeldEngine;
  /** Sends a request that says something, and resolves when it is answered. */
  ask(content: string, headers?: Record<string, string>, extra?: object): Promise<Answer & { readonly isCut: boolean }>;
  /** Resolves when so many wait. */
  untilQueued(count: number): Promise<void>;
  /** Resolves when a request is at the engine. */
  untilServed(content: string): Promise<void>;
  metrics(): Promise<string>;
}

/** A router in front of one pod that takes one sequence. */
export async function startQueueRouter(
  options: Omit<TestRouterOptions, 'engines'> & { readonly maxNumSeqs?: number } = {},
): Promise<QueueRouter> {
  const engine = (await new HeldEngine().start()) as HeldEngine;
  const made = await startTestRouter({ config: queueConfig({}), ...options, engines: [] });
  made.cluster.put(seatedPod('pod-0', 'server', engine.port, options.maxNumSeqs));
  const metrics = async (): Promise<string> => {
    const { host, port } = made.router.metricsAddress;
    return (await send(`http://${host}:${port}`, '/metrics')).body;
  };
  return {
    ...made,
    engine,
    ask: (content, headers = {}, extra = {}) =>
      send(
        made.url,
        '/v1/chat/completions',
        JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...extra }),
        headers,
      ),
    untilQueued: (count) => until(() => made.router.waiting() === count, `${count} requests wait`),
    untilServed: (content) => until(() => engine.underWay.includes(content), `${content} is at the engine`),
    metrics,
  };
}
