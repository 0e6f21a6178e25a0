const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const DNS_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** Lower-case letters, digits, `-`; at most 63: names of namespaces and of parts of names. */
export const isDnsLabel = (name: string): boolean => name.length <= 63 && DNS_LABEL.test(name);

/** A DNS label that begins with a letter: names of Services and what is made from them. */
export const isDns1035Label = (name: string): boolean => name.length <= 63 && DNS_1035.test(name);

/** DNS labels joined by dots; at most 253: names of most objects. */
export const isDnsSubdomain = (name: string): boolean => name.length <= 253 && DNS_SUBDOMAIN.test(name);

/** `name` or `domain/name`, as label keys are. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  return (slash === -1 || isDnsSubdomain(key.slice(0, slash))) && name.length <= 63 && LABEL_NAME.test(name);
}

/** Empty, or at most 63 letters, digits, `-`, `_`, `.` that begin and end with a letter or digit. */
export const isLabelValue = (value: string): boolean => value === '' || (value.length <= 63 && LABEL_NAME.test(value));
