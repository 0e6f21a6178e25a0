import { RouterError } from '../errors';
import type { AnswerSink } from '../relay/client-answer';
import type { EndpointClients } from '../relay/endpoint-clients';
import type { ExchangeOutcome } from '../relay/exchange-outcome';
import type { UpstreamCall } from '../relay/upstream-call';
import type { MatchedProvider, ReadRequest } from '../request';
import { upstreamBody } from '../request/upstream-body';
import { fieldsOf, type JsonFields } from './json-fields';
import { ProviderAnswer } from './provider-answer';
import type { ProviderCredential } from './provider-credential';
import { providerHeaders } from './provider-headers';
import { providerOutcome } from './provider-outcome';
import { providerPath } from './provider-path';
import { type ProviderUrl, providerUrl } from './provider-url';
import { type Translation, translationFor } from './translation';

export interface ProviderCallInput {
  readonly request: ReadRequest;
  readonly matched: MatchedProvider;
  readonly credential: Exclude<ProviderCredential, { kind: 'missing' }>;
  readonly clients: EndpointClients;
  /** Epoch. */
  readonly nowSeconds: () => number;
}

/** One request to a provider. */
export class ProviderCall implements UpstreamCall {
  readonly url: ProviderUrl;
  readonly target: string;
  readonly body: Buffer;
  readonly withholdsUsage: boolean;
  readonly clients: EndpointClients;
  private readonly translation: Translation | undefined;
  private readonly document: JsonFields;
  private readonly fixedHeaders: readonly string[];
  private answer: ProviderAnswer | undefined;

  /** @throws RouterError `provider_path`, `untranslatable`, `provider_not_ready`, `invalid_json`. */
  constructor(private readonly input: ProviderCallInput) {
    const { request, matched, credential, clients, nowSeconds } = input;
    const { head, parsed } = request;
    const { spec } = matched.provider;
    const served = providerPath(spec.providerType, head.path);
    if (served === undefined) {
      throw new RouterError('provider_path', `provider type "${spec.providerType}" does not support path "${head.path}"`);
    }
    const url = providerUrl(spec, served.path);
    if (url === undefined) {
      throw new RouterError('provider_not_ready', `external provider ${matched.providerKey} has no https URL`);
    }
    const { isTranslated } = served;
    this.url = url;
    this.target = isTranslated ? url.path : url.path + head.query;
    this.clients = clients;
    this.withholdsUsage = !isTranslated && parsed.streams && !parsed.wantsUsage;
    this.fixedHeaders = providerHeaders({ spec, client: head.headers, isTranslated, streams: parsed.streams, credential });
    if (isTranslated) {
      this.translation = translationFor(spec, nowSeconds);
      this.document = documentOf(request.body);
      this.body = Buffer.from(JSON.stringify(this.translation.request(this.document, matched.upstreamModel)));
    } else {
      this.document = {};
      this.body = upstreamBody(request, matched.upstreamModel);
    }
  }

  headers(requestId: string): string[] {
    return ['x-request-id', requestId, ...this.fixedHeaders];
  }

  answerTo(client: AnswerSink): AnswerSink {
    const { translation, document: request } = this;
    this.answer = new ProviderAnswer(client, { api: this.input.request.head.api, translation, request });
    return this.answer;
  }

  read(outcome: ExchangeOutcome): ExchangeOutcome {
    const { request, matched } = this.input;
    return providerOutcome(outcome, matched.providerKey, this.answer, request.head.api.dialect === 'anthropic');
  }
}

/** The router looks at the members of a body, not into them: what stands inside may still be no JSON. */
function documentOf(body: Buffer): JsonFields {
  try {
    return fieldsOf(JSON.parse(body.toString('utf8')));
  } catch {
    throw new RouterError('invalid_json', 'the body is no JSON object');
  }
}
