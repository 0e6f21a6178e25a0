/**
 * Runs `onSignal` at the first SIGTERM or SIGINT, and `onSecond` at the next one, for people who do not want to wait.
 *
 * @returns a function that takes the handlers away again.
 */
export function onShutdownSignal(onSignal: (signal: NodeJS.Signals) => void, onSecond: () => void): () => void {
  let count = 0;
  const handler = (signal: NodeJS.Signals): void => {
    count += 1;
    if (count === 1) onSignal(signal);
    else onSecond();
  };
  process.on('SIGTERM', handler);
  process.on('SIGINT', handler);
  return () => {
    process.off('SIGTERM', handler);
    process.off('SIGINT', handler);
  };
}
