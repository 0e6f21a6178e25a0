import { authFindings } from '../../src/config/auth-config';
import type { RouterConfig } from '../../src/config/router-config';
import type { Finding } from '../../src/errors';
import type { SecretRef } from '../secret-ref';
import { type AccessRule, READ } from './access';
import type { DeepPartial } from './deep-partial';
import type { MountedFiles } from './platform-pod';

type AuthSection = DeepPartial<NonNullable<RouterConfig['auth']>>;

/** Whose tokens a router takes. */
export interface TokenOptions {
  /** `iss` of the tokens, exactly. */
  readonly issuer: string;
  /** Where the issuer's keys are, https. */
  readonly jwksUri: string;
  /** A token must be for one of these. @default for anybody */
  readonly audiences?: readonly string[];
  /** Claims that say who asks and what they may. @default `sub` is the user, and every model is allowed */
  readonly claims?: {
    /** Whose usage it is. @default 'sub' */
    readonly user?: string;
    /** Who shares caches and limits. @default none */
    readonly tenant?: string;
    /** A list of model names, or names separated by spaces; `*` is every model. @default none: every model is allowed */
    readonly models?: string;
    /** Class in which requests wait. @default none */
    readonly priorityClass?: string;
  };
  /** PEM bundle of the authorities of `jwksUri`, from a Secret in the router's namespace. @default the public ones */
  readonly caCertificate?: SecretRef;
}

/** Which API keys a router takes. */
export interface ApiKeyOptions {
  /**
   * Names of the Secrets whose entries are keys, in the router's namespace. They must carry `Router.apiKeySecretLabels`. What changes in
   * them counts without a restart.
   */
  readonly secrets: readonly string[];
  /** Lower-case name of the header that carries a key, besides `Authorization: Bearer`. @default 'x-api-key' */
  readonly header?: string;
}

const FOLDER = '/etc/jwks';
const AUTHORITIES = 'ca.crt';

/** The section `auth` of the router's configuration document. @param namespace of the router. */
export function authSection(
  given: AuthSection | undefined,
  jwt: TokenOptions | undefined,
  apiKeys: ApiKeyOptions | undefined,
  namespace: string,
): { readonly auth?: AuthSection } {
  if (given === undefined && jwt === undefined && apiKeys === undefined) return {};
  const { claims, caCertificate, audiences, issuer, jwksUri } = jwt ?? {};
  return {
    auth: {
      ...given,
      ...(jwt === undefined ? {} : { issuer, jwksUri }),
      ...(audiences === undefined ? {} : { audiences: [...audiences] }),
      ...(claims === undefined ? {} : { claims: { ...given?.claims, ...claims } }),
      ...(caCertificate === undefined ? {} : { jwks: { ...given?.jwks, caFile: `${FOLDER}/${AUTHORITIES}` } }),
      ...(apiKeys === undefined
        ? {}
        : {
            apiKeys: {
              ...given?.apiKeys,
              secrets: apiKeys.secrets.map((name) => `${namespace}/${name}`),
              ...(apiKeys.header === undefined ? {} : { header: apiKeys.header }),
            },
          }),
    },
  };
}

/** The files that `authSection` names. */
export function authFiles(jwt: TokenOptions | undefined): readonly MountedFiles[] {
  const secret = jwt?.caCertificate;
  return secret === undefined ? [] : [{ name: 'jwks', folder: FOLDER, files: [{ path: AUTHORITIES, secret }] }];
}

/** Rights on exactly the Secrets with API keys: no rule of access can ask for a label. */
export function authAccess(auth: RouterConfig['auth'], namespace: string): readonly AccessRule[] {
  const resourceNames = (auth?.apiKeys?.secrets ?? []).flatMap((key) => {
    const [home, name] = key.split('/');
    return home === namespace ? [name!] : [];
  });
  return resourceNames.length === 0 ? [] : [{ group: '', resources: ['secrets'], resourceNames, verbs: READ }];
}

/** What of `auth` will not do what it seems to. */
export function authWarnings(auth: RouterConfig['auth'], namespace: string): readonly Finding[] {
  const findings = authFindings(auth).map((found) => ({ ...found, field: `config.${found.field}` }));
  if (auth?.apiKeys === undefined) return findings;
  const { secrets, secretLabel } = auth.apiKeys;
  const field = 'config.auth.apiKeys.secrets';
  const unreadable = { code: 'router/unreadable-secrets', severity: 'warning', field } as const;
  if (secrets.length === 0) {
    const message = `is empty, and the router has no rights on Secrets that it does not know by name, whatever carries ${secretLabel}`;
    return [...findings, { ...unreadable, message, remedy: 'name the Secrets in apiKeys' }];
  }
  const foreign = secrets.filter((key) => !key.startsWith(`${namespace}/`));
  if (foreign.length === 0) return findings;
  const message = `names ${foreign.join(', ')}, which the router in namespace ${namespace} has no rights on`;
  return [...findings, { ...unreadable, message, remedy: `keep API keys in namespace ${namespace}` }];
}
