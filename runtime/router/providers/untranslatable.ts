import { RouterError } from '../errors';

/** The error of a request that has no equivalent in the provider's protocol. @param param path of the member. @param what why. */
export function untranslatable(param: string, what: string): RouterError {
  return new RouterError('untranslatable', `${param}: ${what}`, param);
}
