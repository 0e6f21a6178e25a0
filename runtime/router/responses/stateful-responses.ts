import { keyOf } from '../../../src/api/meta';
import { ownerOf } from '../admission/identity';
import { requireModel } from '../admission/model-permission';
import { RouterError } from '../errors';
import type { EndpointClients } from '../relay/endpoint-clients';
import type { UpstreamCall } from '../relay/upstream-call';
import type { Identity, MatchedRequest, ReadRequest, StatefulUse } from '../request';
import { printable, responseIdOf } from '../request/api-paths';
import type { RequestMatcher } from '../request/match-request';
import { namedTarget, sessionTarget } from '../routing/sessions';
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

  /** Waits for news of the response that a request names, where a sibling router may just have made it. */
  async heard(read: Promise<ReadRequest>): Promise<ReadRequest> {
    const request = await read;
    const { head, parsed } = request;
    const id = head.api.use === 'response' ? responseIdOf(head.path) : parsed.previousResponseId;
    if (id !== undefined) await this.owners.news(id);
    return request;
  }

  /**
   * @param request to a path that keeps responses or names one.
   * @throws RouterError `response_not_found`, `previous_response_not_found`, `model_not_allowed`, and those of a match.
   */
  match(request: ReadRequest, identity: Identity): MatchedRequest {
    const { head, parsed } = request;
    const tenant = ownerOf(identity);
    if (head.api.use === 'response') {
      const owner = this.ownerOf(responseIdOf(head.path), tenant, 'response_id');
      requireModel(identity, owner.model);
      const matched = this.matcher.again(owner.route, owner.target, owner.isAdapter, owner.model);
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
    const { endpointId, route, target: made } = this.ownerOf(previousResponseId, tenant, 'previous_response_id');
    let target: MatchedRequest | undefined = first;
    while (target !== undefined && sessionTarget(target.target) !== made) target = this.matcher.fallback(target, request);
    if (target === undefined || namespaceOf(keyOf(target.route)) !== namespaceOf(route)) {
      throw notFound(previousResponseId, 'previous_response_id');
    }
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
      (id) => {
        const { destination, target, isAdapter } = matched;
        this.owners.note(id, {
          ...{ model, tenant, isAdapter, endpointId },
          route: destination.modelRoute,
          target: sessionTarget(target),
        });
      },
      () => {
        if (request.head.api.method === 'DELETE') this.owners.forget(responseIdOf(request.head.path));
      },
    );
  }

  private ownerOf(id: string, tenant: string | undefined, param: 'response_id' | 'previous_response_id'): ResponseOwner {
    const owner = this.owners.find(id, tenant);
    if (owner === undefined || !this.isThere(owner)) throw notFound(id, param);
    return owner;
  }

  private isThere({ route, target, endpointId }: ResponseOwner): boolean {
    const { modelServerName } = namedTarget(target);
    if (!modelServerName) return true;
    const pool = this.endpoints.ofModelServer(`${namespaceOf(route)}/${modelServerName}`);
    return pool?.some(({ id }) => id === endpointId) === true;
  }
}

/** @param key `namespace/name`. */
function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

function notFound(id: string, param: 'response_id' | 'previous_response_id'): RouterError {
  const code = param === 'response_id' ? 'response_not_found' : 'previous_response_not_found';
  return new RouterError(code, `no response with the id ${printable(id)} is known`, param);
}
