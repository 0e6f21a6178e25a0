/** A series as an expression asks for it: the metric, and the labels that its selector names. */
export interface AskedSeries {
  readonly metric: string;
  readonly labels: readonly string[];
}

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

/** The series that a PromQL expression reads. */
export function seriesOf(expr: string): readonly AskedSeries[] {
  const bare = expr
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, '');
  return [...bare.matchAll(/([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?(\s*\()?/g)]
    .filter(([, name, , call]) => call === undefined && !WORDS.has(name!))
    .map(([, metric, selector]) => ({
      metric: metric!,
      labels: [...(selector ?? '').matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
    }));
}
