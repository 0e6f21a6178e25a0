import type { GuardrailConfig } from '../../src/config/guardrail-config';
import type { RouterConfig } from '../../src/config/router-config';
import type { SecretRef } from '../secret-ref';
import type { DeepPartial } from './deep-partial';
import type { MountedFiles } from './platform-pod';

/** A service that judges prompts before engines get them, and answers before clients do. `docs/router.md` says how it is asked. */
export interface RouterGuardrail {
  /** Where it is asked by POST, such as `http://guard.safety.svc:8080/check`. */
  readonly url: string;
  /** `before`: requests; `after`: answers. @default ['before'] */
  readonly phases?: GuardrailConfig['phases'];
  /** Models as clients name them. @default all */
  readonly models?: readonly string[];
  /** What becomes of what could not be judged. @default 'refuse' */
  readonly onFailure?: GuardrailConfig['onFailure'];
  /** Longest wait for a verdict, 1 to 60000 ms. @default 2000 */
  readonly timeoutMs?: number;
  /** Text of a stream that is held for one verdict; a client reads its first token that much later. @default 400 */
  readonly streamWindowCharacters?: number;
  /** Longest answer that is judged. @default 4 MiB */
  readonly answerBytes?: number;
  /** Token that is sent as `Authorization: Bearer`, from a Secret in the router's namespace. @default none */
  readonly token?: SecretRef;
  /** PEM bundle of the authorities that sign its certificate, from a Secret in the router's namespace. @default the public ones */
  readonly caCertificate?: SecretRef;
}

const FOLDER = '/etc/guardrail';
const TOKEN = 'token';
const AUTHORITIES = 'ca.crt';

/** The section of the router's configuration document that finds the service and the files. */
export function guardrailSection(
  given: Pick<DeepPartial<RouterConfig>, 'guardrail'> | undefined,
  { token, caCertificate, models, ...rest }: RouterGuardrail,
): Pick<DeepPartial<RouterConfig>, 'guardrail'> {
  return {
    guardrail: {
      ...given?.guardrail,
      ...rest,
      ...(models === undefined ? {} : { models: [...models] }),
      ...(token === undefined ? {} : { tokenFile: `${FOLDER}/${TOKEN}` }),
      ...(caCertificate === undefined ? {} : { caFile: `${FOLDER}/${AUTHORITIES}` }),
    },
  };
}

/** The files that `guardrailSection` names. */
export function guardrailFiles({ token, caCertificate }: RouterGuardrail): readonly MountedFiles[] {
  const files = [
    ...(token === undefined ? [] : [{ path: TOKEN, secret: token }]),
    ...(caCertificate === undefined ? [] : [{ path: AUTHORITIES, secret: caCertificate }]),
  ];
  return files.length === 0 ? [] : [{ name: 'guardrail', folder: FOLDER, files }];
}
