import type { RouterConfig } from '../../../../src/config/router-config';
import { RIVAL_PARAMETERS } from './rival-parameters';

const { maxWaitingRequests, ttftTpotWeightFactor, weights } = RIVAL_PARAMETERS.kthenaDefault;

/** Kthena's default plugins, in its own configuration format; the router's plugins of those names decide. */
export const KTHENA_DEFAULT: Pick<RouterConfig, 'scheduler'> = {
  scheduler: {
    pluginConfig: [
      { name: 'least-request', args: { maxWaitingRequests } },
      { name: 'least-latency', args: { TTFTTPOTWeightFactor: ttftTpotWeightFactor } },
    ],
    plugins: {
      Filter: { enabled: ['least-request'] },
      Score: { enabled: Object.entries(weights).map(([name, weight]) => ({ name, weight })) },
    },
  },
};
