import { accessRecord, formatAccessText } from '../../../../runtime/router/observability/access-record';
import { RequestTrace } from '../../../../runtime/router/observability/request-trace';

function traceOf(more: Partial<RequestTrace> = {}): RequestTrace {
  const trace = new RequestTrace('POST', 'HTTP/1.1', Date.UTC(2026, 0, 2, 3, 4, 5, 6), 1_000);
  return Object.assign(trace, {
    path: '/v1/chat/completions',
    model: 'm',
    requestId: 'id-1',
    status: 200,
    parsedAtMs: 1_002,
    upstreamStartMs: 1_005,
    upstreamEndMs: 1_105,
    endMs: 1_110,
    ...more,
  });
}

const WHOLE = traceOf({
  destination: { modelRoute: 'ns/r', backendType: 'model_server', backendName: 'ns/s', upstreamModel: 'base' },
  identity: { kind: 'token', user: 'alice', tenant: 'red' } as NonNullable<RequestTrace['identity']>,
  pod: 'pod-0',
  prefillPod: 'pod-1',
  chosenBy: 'pair',
  attempts: 2,
  queuedMs: 3,
  priorityClass: 'batch',
  upstreamStatus: 200,
  usage: { promptTokens: 100, completionTokens: 20, cachedTokens: 60 },
  predictedCachedTokens: 64,
  expectedTtftMs: 40.4,
  ttftMs: 50,
  streams: true,
});

describe('A line of the access log', () => {
  it('has in JSON Kthena’s fields, and what was expected beside what happened', () => {
    expect(accessRecord(WHOLE)).toEqual({
      timestamp: '2026-01-02T03:04:05.006Z',
      method: 'POST',
      path: '/v1/chat/completions',
      protocol: 'HTTP/1.1',
      status_code: 200,
      model_name: 'm',
      model_route: 'ns/r',
      model_server: 'ns/s',
      selected_pod: 'pod-0',
      selected_by: 'pair',
      prefill_pod: 'pod-1',
      request_id: 'id-1',
      backend_type: 'model_server',
      backend_name: 'ns/s',
      upstream_model: 'base',
      upstream_status_code: 200,
      upstream_attempts: 2,
      input_tokens: 100,
      output_tokens: 20,
      cached_tokens: 60,
      predicted_cached_tokens: 64,
      expected_ttft_ms: 40,
      ttft_ms: 50,
      queue_ms: 3,
      priority_class: 'batch',
      stream: true,
      duration_total: 110,
      duration_request_processing: 5,
      duration_upstream_processing: 100,
      duration_response_processing: 5,
    });
  });

  it('is in text Kthena’s line to the byte, with ours after it', () => {
    expect(formatAccessText(accessRecord(WHOLE))).toBe(
      '[2026-01-02T03:04:05.006Z] "POST /v1/chat/completions HTTP/1.1" 200 model_name=m model_route=ns/r model_server=ns/s ' +
        'selected_pod=pod-0 request_id=id-1 backend_type=model_server backend_name=ns/s upstream_model=base ' +
        'upstream_status_code=200 upstream_attempts=2 tokens=100/20 timings=110ms(5+100+5) selected_by=pair prefill_pod=pod-1 ' +
        'cached_tokens=60 predicted_cached_tokens=64 expected_ttft_ms=40 ttft_ms=50 queue_ms=3 priority_class=batch',
    );
  });

  it('does not say who asked', () => {
    expect(JSON.stringify(accessRecord(WHOLE))).not.toMatch(/alice|red"/);
  });

  it('of a request that was refused early says why and has no more than is known', () => {
    const refused = traceOf({ path: '', model: '', status: 404, errorType: 'unknown_path', errorMessage: 'no\npath' });
    Object.assign(refused, { parsedAtMs: undefined, upstreamStartMs: undefined, upstreamEndMs: undefined });
    expect(formatAccessText(accessRecord(refused, '/v1/\u0007guess?key=secret'))).toBe(
      '[2026-01-02T03:04:05.006Z] "POST /v1/?guess HTTP/1.1" 404 error=unknown_path:no?path request_id=id-1 timings=110ms(0+110+0)',
    );
  });
});
