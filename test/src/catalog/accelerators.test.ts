import { ACCELERATORS, acceleratorNamed, acceleratorOfNodeSelector, DEFAULT_ACCELERATOR } from '../../../src/catalog';

describe('the accelerator catalogue', () => {
  it('has at least twelve accelerators of three vendors, each name and node label once', () => {
    expect(ACCELERATORS.length).toBeGreaterThanOrEqual(12);
    expect(new Set(ACCELERATORS.map(({ vendor }) => vendor)).size).toBe(3);
    expect(new Set(ACCELERATORS.map(({ name }) => name.toLowerCase())).size).toBe(ACCELERATORS.length);
    const labels = ACCELERATORS.flatMap(({ nodeLabels }) => nodeLabels.map(({ key, value }) => `${key}=${value}`));
    expect(new Set(labels).size).toBe(labels.length);
  });

  it.each(ACCELERATORS.map((accelerator) => [accelerator.name, accelerator] as const))(
    '%s has plausible figures, each with a source',
    (_, a) => {
      expect(a.source).not.toBe('');
      expect(a.listPricePerHour === undefined).toBe(a.priceSource === undefined);
      expect(a.memoryGiB).toBeGreaterThan(10);
      expect(a.memoryGiB).toBeLessThan(300);
      // A GB of memory is read in 15 to 80 ms on every class that serves models.
      expect((a.memoryGiB / a.memoryBandwidthGBps) * 1000).toBeGreaterThan(14);
      expect((a.memoryGiB / a.memoryBandwidthGBps) * 1000).toBeLessThan(80);
      // FP8 units run at twice the 16-bit rate on all hardware that has them.
      if (a.fp8Tflops !== undefined) expect(a.fp8Tflops / a.bf16Tflops).toBeCloseTo(2, 1);
      for (const { value } of a.nodeLabels) expect(value).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
    },
  );

  it('states the memory in a name within 10 % of what the driver shows', () => {
    for (const { name, memoryGiB } of ACCELERATORS) {
      const named = Number(/(\d+)GB$/.exec(name)![1]);
      expect(memoryGiB / named).toBeGreaterThan(0.9);
      expect(memoryGiB / named).toBeLessThan(1.1);
    }
  });

  it('finds an accelerator by name in any case, and none by an unknown name', () => {
    expect(acceleratorNamed('h100-sxm-80gb')?.name).toBe('H100-SXM-80GB');
    expect(acceleratorNamed('H100')).toBeUndefined();
    expect(DEFAULT_ACCELERATOR.name).toBe('H100-SXM-80GB');
  });

  it.each([
    [{ 'nvidia.com/gpu.product': 'NVIDIA-L40S' }, 'L40S-48GB'],
    [{ zone: 'a', 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' }, 'H100-SXM-80GB'],
    [{ 'nvidia.com/gpu.product': 'NVIDIA-L4-SHARED' }, 'L4-24GB'],
    [{ 'amd.com/gpu.device-id': '74a1' }, 'MI300X-192GB'],
    [{ 'accelerator-type': 'module-910b-8' }, 'Ascend-910B-64GB'],
    [{ 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3-MIG-1g.10gb' }, undefined],
    [{ 'kubernetes.io/os': 'linux' }, undefined],
    [undefined, undefined],
  ])('reads %j as %s', (nodeSelector, name) => {
    expect(acceleratorOfNodeSelector(nodeSelector)?.name).toBe(name);
  });
});
