import { type RouterConfig, routerConfigSchema } from '../../src/config/router-config';

/** The router's configuration as it is now. Parts read it when they need it. */
export class LiveConfig {
  /** Reads as the newest configuration. A section that was taken out of it stays as it was: take it anew for each request. */
  readonly view: RouterConfig;

  constructor(private current: RouterConfig) {
    const sections = Object.keys(routerConfigSchema.properties).map((key): [string, PropertyDescriptor] => [
      key,
      { enumerable: true, get: () => this.current[key as keyof RouterConfig] },
    ]);
    this.view = Object.defineProperties({}, Object.fromEntries(sections)) as RouterConfig;
  }

  get value(): RouterConfig {
    return this.current;
  }

  replace(config: RouterConfig): void {
    this.current = config;
  }
}
