const RATIO_ENDINGS = ['_utilization', '_usage', '_ratio', '_percent', '_saturation', '_perc'];

/**
 * Whether a metric is a share rather than an amount, by the ending of its name, so that values of several sources are averaged and not
 * added. Kthena's endings, and vLLM's `_perc`.
 */
export function isRatioName(name: string): boolean {
  const lower = name.toLowerCase();
  return RATIO_ENDINGS.some((ending) => lower.endsWith(ending));
}
