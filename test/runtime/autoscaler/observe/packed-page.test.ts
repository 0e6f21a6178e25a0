import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CAPACITY_FAMILIES } from '../../../../runtime/autoscaler/observe/engine-window';
import { type Family, type MetricsPage, parseMetricsPage } from '../../../../runtime/autoscaler/observe/metrics-page';
import { PagePacker } from '../../../../runtime/autoscaler/observe/packed-page';

const recorded = readFileSync(join(__dirname, '../../../fixtures/engines/vllm-0.32.0/http/metrics_load.resp.http'), 'utf8');
const page = (text: string, ...families: readonly string[]) => parseMetricsPage(text, new Set(families));

function familiesOf(packed: MetricsPage, names: Iterable<string>): ReadonlyMap<string, Family> {
  return new Map([...names].flatMap((name) => (packed.has(name) ? [[name, packed.get(name)!] as const] : [])));
}

it('gives a recorded page back as it was', () => {
  const read = parseMetricsPage(recorded, new Set([...CAPACITY_FAMILIES, 'vllm:e2e_request_latency_seconds']));
  expect(read.size).toBeGreaterThan(8);
  const packed = new PagePacker().pack(read);
  expect(familiesOf(packed, read.keys())).toEqual(read);
  expect([packed.has('another'), packed.get('another')]).toEqual([false, undefined]);
});

it('keeps pages of one layout, and of others, apart', () => {
  const packer = new PagePacker();
  const pages = [
    page('a{x="1"} 1\na{x="2"} 2\nb 3\n', 'a', 'b'),
    page('a{x="1"} 4\na{x="2"} NaN\nb 6\n', 'a', 'b'),
    page('a{x="2"} 7\na{x="1"} 8\nb 9\n', 'a', 'b'),
    page('a{x="1"} 1\nb 3\n', 'a', 'b'),
    page('b 3\na{x="1"} 1\n', 'a', 'b'),
    page('# TYPE a gauge\na{x="1"} 1\nb 3\n', 'a', 'b'),
    page('# TYPE a summary\na{x="1"} 1\nb 3\n', 'a', 'b'),
    page('# TYPE a histogram\na_bucket{le="1"} 1\na_bucket{le="+Inf"} 2\na_sum 3\nb 3\n', 'a', 'b'),
    page('# TYPE a histogram\na_bucket{le="2"} 1\na_bucket{le="+Inf"} 2\na_sum 3\nb 3\n', 'a', 'b'),
    page('# TYPE a histogram\na_bucket{le="2"} 1\na_bucket{le="+Inf"} 2\nb 3\n', 'a', 'b'),
    page('# TYPE a histogram\na_bucket{m="x",le="2"} 1\na_bucket{m="x",le="+Inf"} 2\nb 3\n', 'a', 'b'),
    page('', 'a', 'b'),
  ];
  const packed = pages.map((each) => packer.pack(each));
  expect(packed.map((each) => familiesOf(each, ['a', 'b']))).toEqual(pages);
});

it('knows a layout again after many others', () => {
  const packer = new PagePacker();
  const first = page('a 1\n', 'a');
  for (let i = 0; i < 100; i++) packer.pack(page(`a{x="${i}"} 1\n`, 'a'));
  expect(familiesOf(packer.pack(first), ['a'])).toEqual(first);
});

it('keeps apart what many pages have in one piece of memory', () => {
  const packer = new PagePacker();
  const pages = Array.from({ length: 5_000 }, (_, i) => page(`a{x="1"} ${i}\na{x="2"} ${-i}\nb ${i / 2}\n`, 'a', 'b'));
  const packed = pages.map((each) => packer.pack(each));
  expect(packed.map((each) => familiesOf(each, ['a', 'b']))).toEqual(pages);
});
