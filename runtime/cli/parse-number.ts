import { InvalidArgumentError } from 'commander';

/** Reads `--speed`. @throws InvalidArgumentError, which commander prints with the flag's name. */
export function parseSpeed(text: string): number {
  const speed = Number(text);
  if (!(speed >= 0.1 && speed <= 1000)) throw new InvalidArgumentError('give a number from 0.1 to 1000');
  return speed;
}

/** Reads `--seed`. @throws InvalidArgumentError, which commander prints with the flag's name. */
export function parseSeed(text: string): number {
  const seed = Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff)
    throw new InvalidArgumentError('give a whole number from 0 to 4294967295');
  return seed;
}
