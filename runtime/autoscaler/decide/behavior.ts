import type { Algorithm } from './algorithm';
import { type History, heldWithin, within } from './history';
import { type Behavior, type Bounds, clamp, type StepRule } from './rules';

export type Mode = 'Stable' | 'Panic';

/** A rule that changed the replica count on its way from the recommendation to the decision. */
export interface Limit {
  readonly rule:
    | 'stabilization'
    | 'rate'
    | 'panic-rate'
    | 'no-panic-down'
    | 'bounds'
    | 'missing-metric'
    | 'no-wake-signal'
    | 'busy'
    | 'wake'
    | 'stale-view'
    | 'starting'
    | 'ratio'
    | 'back-off'
    | 'largest-step'
    | 'rollout'
    | 'budget';
  readonly from: number;
  readonly to: number;
  /** What exactly, where the rule's name does not say it. */
  readonly by?: string;
}

export interface Correction {
  readonly replicas: number;
  readonly mode: Mode;
  readonly limits: readonly Limit[];
  /** Until when panic lasts from now on; undefined: it does not. */
  readonly panicUntilMs?: number;
}

export interface Wish {
  readonly current: number;
  readonly recommended: number;
  /** What is recommended by what is read at the moment; panic begins and grows by it. @default recommended */
  readonly sudden?: number;
  readonly bounds: Bounds;
}

/** Bends a recommendation by panic, stabilization windows and rate limits. Pure. */
export function correct(
  behavior: Behavior,
  wish: Wish,
  history: History,
  nowMs: number,
  isSurge: Algorithm['isSurge'],
): Correction {
  const { current, recommended, sudden = recommended, bounds } = wish;
  const { panic } = behavior;
  const startsNow = panic.holdMs > 0 && isSurge(sudden, current, panic.thresholdPercent);
  const panicUntilMs = startsNow ? nowMs + panic.holdMs : history.panicUntilMs;
  const mode: Mode = panicUntilMs !== undefined && nowMs < panicUntilMs ? 'Panic' : 'Stable';

  const path = new Path(mode === 'Panic' ? Math.max(recommended, sudden) : recommended);
  if (mode === 'Panic') correctInPanic(path, behavior, current, history, nowMs);
  else if (recommended < current) correctDown(path, behavior.scaleDown, current, history, nowMs);
  else if (recommended > current) correctUp(path, behavior.scaleUp, current, history, nowMs);
  path.to('bounds', clamp(path.replicas, bounds));
  return { replicas: path.replicas, mode, limits: path.limits, ...(mode === 'Panic' && { panicUntilMs }) };
}

function correctInPanic(path: Path, { panic }: Behavior, current: number, history: History, nowMs: number): void {
  if (panic.periodMs > 0) {
    const past = Math.min(current, ...heldWithin(history.corrections, panic.periodMs, nowMs));
    if (past > 0) path.to('panic-rate', Math.min(path.replicas, past + Math.trunc((past * panic.percent) / 100)));
  }
  path.to('no-panic-down', Math.max(path.replicas, current));
}

function correctDown(path: Path, rule: StepRule, current: number, history: History, nowMs: number): void {
  path.to('stabilization', Math.max(path.replicas, ...within(history.recommendations, rule.stabilizationWindowMs, nowMs)));
  if (rule.periodMs > 0) {
    const past = Math.max(current, ...heldWithin(history.corrections, rule.periodMs, nowMs));
    const byCount = past - rule.instances;
    const byPercent = past - Math.trunc((past * rule.percent) / 100);
    if (rule.selectPolicy === 'Or') path.to('rate', Math.max(path.replicas, Math.min(byCount, byPercent)));
    if (rule.selectPolicy === 'And') path.to('rate', Math.max(path.replicas, Math.max(byCount, byPercent)));
  }
  path.to('stabilization', Math.min(path.replicas, current));
}

function correctUp(path: Path, rule: StepRule, current: number, history: History, nowMs: number): void {
  path.to('stabilization', Math.min(path.replicas, ...within(history.recommendations, rule.stabilizationWindowMs, nowMs)));
  if (rule.periodMs > 0) {
    const past = Math.min(current, ...heldWithin(history.corrections, rule.periodMs, nowMs));
    const byCount = past + rule.instances;
    const byPercent = past + Math.trunc((past * rule.percent) / 100);
    if (rule.selectPolicy === 'Or') path.to('rate', Math.min(path.replicas, Math.max(byCount, byPercent)));
    if (rule.selectPolicy === 'And') path.to('rate', Math.min(path.replicas, Math.min(byCount, byPercent)));
  }
  path.to('stabilization', Math.max(path.replicas, current));
}

/** How far back any rule of `behavior` looks. */
export function horizonMs({ scaleUp, scaleDown, panic }: Behavior): number {
  return Math.max(
    scaleUp.stabilizationWindowMs,
    scaleDown.stabilizationWindowMs,
    2 * Math.max(scaleUp.periodMs, scaleDown.periodMs, panic.periodMs),
  );
}

/** A replica count on its way through the rules, and what each of them did to it. */
class Path {
  readonly limits: Limit[] = [];

  constructor(public replicas: number) {}

  to(rule: Limit['rule'], replicas: number): void {
    if (replicas !== this.replicas) this.limits.push({ rule, from: this.replicas, to: replicas });
    this.replicas = replicas;
  }
}
