import { ownerOf } from '../admission/identity';
import { requireModel } from '../admission/model-permission';
import { RouterError } from '../errors';
import type { EndpointClients } from '../relay/endpoint-clients';
import type { UpstreamCall } from '../relay/upstream-call';
import type { Identity, MatchedRequest, ReadRequest, StatefulUse } from '../request';
import { printable, responseIdOf } from '../request/api-paths';
import type { RequestMatcher } from '../request/match-request';
import type { Endpoints } from '../scheduling/scheduling';
import { ResponseCall } from './response-call';
import type { ResponseOwner, ResponseOwners } from './response-owners';

/** Sends what goes on from a response, or asks for one, to the endpoint that keeps it. */
export class StatefulResponses {
  constructor(
    private readonly owners: ResponseOwners,
    private readonly matcher: RequestMatcher,
    private readonly endpoints: Pick<Endpoints, 'ofModelServer'>,
    private readonly clients: EndpointClients,
  ) {}

  /**
   * @param request to a path that keeps responses or names one.
   * @throws RouterError `response_not_found`, `model_not_allowed`, and those of a match.
   */
  match(request: ReadRequest, identity: Identity): MatchedRequest {
    const { head, parsed } = request;
    const tenant = ownerOf(identity);
    if (head.api.use === 'response') {
      const owner = this.ownerOf(responseIdOf(head.path), tenant, 'response_id');
      requireModel(identity, owner.model);
      const matched = this.matcher.again(owner.matched, owner.model);
      if (matched === undefined) throw notFound(responseIdOf(head.path), 'response_id');
      return { ...matched, stateful: { model: owner.model, tenant, endpointId: owner.endpointId } };
    }
    requireModel(identity, parsed.model);
    const { model, previousResponseId } = parsed;
    const first = this.matcher.match(request, identity);
    if (previousResponseId === undefined) return { ...first, stateful: { model, tenant, endpointId: undefined } };
    const owner = this.owners.find(previousResponseId, tenant);
    // A provider keeps its responses longer than this router knows of them, and finds them by itself.
    if (owner === undefined && first.kind === 'provider') {
      return { ...first, stateful: { model, tenant, endpointId: undefined } };
    }
    const { endpointId, matched } = this.ownerOf(previousResponseId, tenant, 'previous_response_id');
    let target: MatchedRequest | undefined = first;
    while (target !== undefined && keyOfTarget(target) !== keyOfTarget(matched)) target = this.matcher.fallback(target, request);
    if (target === undefined) throw notFound(previousResponseId, 'previous_response_id');
    return { ...target, stateful: { model, tenant, endpointId } };
  }

  /** How an attempt goes so that its response is found again. @param inner how it goes to a provider. */
  call(
    request: ReadRequest,
    matched: MatchedRequest,
    { model, tenant }: StatefulUse,
    endpointId: string,
    inner: UpstreamCall | undefined,
  ): UpstreamCall {
    return new ResponseCall(
      request,
      matched,
      inner,
      this.clients,
      (id) => this.owners.note(id, { model, tenant, endpointId, matched: { ...matched, before: undefined } }),
      () => {
        if (request.head.api.method === 'DELETE') this.owners.forget(responseIdOf(request.head.path));
      },
    );
  }

  private ownerOf(id: string, tenant: string | undefined, param: string): ResponseOwner {
    const owner = this.owners.find(id, tenant);
    if (owner === undefined || !this.isThere(owner)) throw notFound(id, param);
    return owner;
  }

  private isThere({ matched, endpointId }: ResponseOwner): boolean {
    if (matched.kind === 'provider') return true;
    return this.endpoints.ofModelServer(matched.modelServerKey)?.some(({ id }) => id === endpointId) === true;
  }
}

function keyOfTarget(matched: MatchedRequest): string {
  return matched.kind === 'provider' ? `provider ${matched.providerKey}` : `server ${matched.modelServerKey}`;
}

function notFound(id: string, param: string): RouterError {
  return new RouterError('response_not_found', `no response with the id ${printable(id)} is known`, param);
}
