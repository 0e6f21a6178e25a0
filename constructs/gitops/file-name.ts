import type { Chart } from 'cdk8s';

/** Path of an object's file: the chart's path, then `Kind.name.yaml`. No hash, so that a file keeps its name as long as its object does. */
export function filePath(chart: Chart, kind: string, name: string): string {
  return `${folderOf(chart)}/${fileName(`${kind}.${name}`)}.yaml`;
}

const folders = new WeakMap<Chart, string>();

/** A chart's place in its tree is final. */
function folderOf(chart: Chart): string {
  let folder = folders.get(chart);
  if (folder === undefined) {
    folder = chart.node.path.split('/').map(fileName).join('/') || 'app';
    folders.set(chart, folder);
  }
  return folder;
}

/** `text` with everything but letters, digits, `.`, `_` and `-` replaced; never hidden, so that no path can name `.git`. */
function fileName(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
}
