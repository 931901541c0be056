import { describeScenarios } from './describe-scenarios.js';
import { scenarios } from './scenarios/index.js';

describeScenarios(scenarios.filter(({ length }) => length === 'short'));
