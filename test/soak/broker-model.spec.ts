import { describeModel } from '../contract/model/describe-model.js';

describeModel(300);
