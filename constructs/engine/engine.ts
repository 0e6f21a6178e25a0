import { type CustomEngineOptions, customSpec } from './custom';
import type { EngineSpec } from './engine-spec';
import { type SglangOptions, sglangSpec } from './sglang';
import { type VllmOptions, vllmSpec } from './vllm';

/**
 * The server that runs a model: its image, its command line, and what it tells about itself.
 *
 * @example
 * Engine.vllm('0.32.0', { maxModelLen: 32_768, extraArgs: ['--seed', '7'] });
 * Engine.sglang('0.5.23');
 * Engine.custom({ image: 'registry.example.com/own-server:1.4.2', argv: ['serve', '--model={model}'], port: 8000 });
 */
export type Engine = EngineSpec;

export const Engine = {
  /** @param version a release, such as `0.32.0`. @throws RangeError when it is none: a moving tag has no known flags. */
  vllm(version: string, options: VllmOptions = {}): Engine {
    return vllmSpec(release('vllm', version), options);
  },

  /** @param version a release, such as `0.5.23`. @throws RangeError when it is none: a moving tag has no known flags. */
  sglang(version: string, options: SglangOptions = {}): Engine {
    return sglangSpec(release('sglang', version), options);
  },

  /** Any other OpenAI-compatible server. */
  custom(options: CustomEngineOptions): Engine {
    return customSpec(options);
  },
} as const;

function release(maker: string, version: string): string {
  if (!/^v?\d+\.\d+/.test(version)) throw new RangeError(`Engine.${maker}('${version}'): write a release such as 0.32.0`);
  return version.replace(/^v/, '');
}
