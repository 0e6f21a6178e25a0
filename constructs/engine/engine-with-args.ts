import type { Engine } from './engine';

/** `engine` with more words on its command line. A custom engine, whose flags nobody knows, writes its own. */
export function engineWithArgs(engine: Engine, args: readonly string[]): Engine {
  if (engine.release === undefined || args.length === 0) return engine;
  return {
    ...engine,
    launch(request) {
      const launch = engine.launch(request);
      return { ...launch, args: [...launch.args, ...args] };
    },
  };
}
