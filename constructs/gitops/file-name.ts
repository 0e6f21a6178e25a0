import type { Chart } from 'cdk8s';

/** Path of an object's file: the chart's path, then `Kind.name.yaml`. No hash, so that a file keeps its name as long as its object does. */
export function filePath(chart: Chart, kind: string, name: string): string {
  const folder = chart.node.path.split('/').map(fileName).join('/');
  return `${folder === '' ? 'app' : folder}/${fileName(`${kind}.${name}`)}.yaml`;
}

/** `text` with everything but letters, digits, `.`, `_` and `-` replaced; never hidden, so that no path can name `.git`. */
function fileName(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
}
